#include "process/shim/child.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "process/shim/contain.hpp"
#include "process/shim/io.hpp"

namespace agent::process::shim {
namespace {

void become_account(const wire::LaunchHeader& header, int report) {
  if (header.uid < 0) return;
  const auto uid = static_cast<uid_t>(header.uid);
  const auto gid = static_cast<gid_t>(header.gid);
  if (::setgroups(0, nullptr) != 0) give_up(report, wire::Stage::groups, errno);
  if (::setresgid(gid, gid, gid) != 0) give_up(report, wire::Stage::gid, errno);
  if (::setresuid(uid, uid, uid) != 0) give_up(report, wire::Stage::uid, errno);
  // A way back would make the account a costume.
  if (uid != 0 && ::setuid(0) == 0) give_up(report, wire::Stage::uid, EPERM);
}

void null_streams(int report) {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) give_up(report, wire::Stage::streams, errno);
  for (int stream = 0; stream <= 2; ++stream) {
    if (::dup2(null, stream) < 0) give_up(report, wire::Stage::streams, errno);
  }
}

void reset_signals() {
  // The kernel's own call: the C library refuses to touch two signals of its own, and posix_spawn leaves them
  // ignored. All zero means the default, whatever the order of the kernel's fields.
  constexpr std::size_t kernel_set_size = 8;
  const unsigned char by_default[64] = {};
  for (int number = 1; number < NSIG; ++number)
    ::syscall(SYS_rt_sigaction, number, by_default, nullptr, kernel_set_size);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void join(int group, int report) {
  const int fd = ::openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) give_up(report, wire::Stage::cgroup, errno);
  const int failure = write_all(fd, "0", 1);
  if (failure != 0) give_up(report, wire::Stage::cgroup, failure);
  ::close(fd);
}

[[noreturn]] void run(const Launch& launch, int job, const int* limited, int go, int report) {
  char byte = 0;
  ssize_t count = 0;
  while ((count = ::read(go, &byte, 1)) < 0 && errno == EINTR) {
  }
  if (count != 1) ::_exit(127);
  // A session of its own: the job cannot signal the shim's group by accident, and what is left of it can be
  // found by the session's number if the shim itself was killed.
  if (::setsid() < 0) give_up(report, wire::Stage::session, errno);
  if (job >= 0) join(job, report);
  for (std::size_t i = 0; i < launch.header.limited_count; ++i)
    join(limited[i], report);
  arrange_mounts(launch, report);
  null_streams(report);
  limit_resources(launch, report);
  become_account(launch.header, report);
  ::umask(022);
  // After the change of account, so that its rights decide and not the daemon's.
  if (::chdir(launch.directory) != 0) give_up(report, wire::Stage::directory, errno);
  reset_signals();
  if ((launch.header.flags & wire::no_new_privileges) != 0 && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    give_up(report, wire::Stage::privileges, errno);
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execve(launch.arguments[0], launch.arguments, launch.environment);
  give_up(report, wire::Stage::execute, errno);
}

}  // namespace

bool fork_child(const Launch& launch, int job, const int* limited, Child& child, wire::Failure& failure) {
  const auto failed = [&failure](int error_number) {
    failure = {static_cast<std::uint32_t>(wire::Stage::fork), error_number, 0};
    return false;
  };
  int go[2];
  int report[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return failed(errno);
  if (::pipe2(report, O_CLOEXEC) != 0) return failed(errno);
  child.pid = ::fork();
  if (child.pid < 0) return failed(errno);
  if (child.pid == 0) {
    ::close(go[1]);
    ::close(report[0]);
    run(launch, job, limited, go[0], report[1]);
  }
  ::close(go[0]);
  ::close(report[1]);
  child.go = go[1];
  child.report = report[0];
  return true;
}

}  // namespace agent::process::shim
