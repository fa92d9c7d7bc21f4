// rmgr-shim: holds one child at a gate, starts it, outlives the daemon, ends what the child leaves behind and
// records how it ended. Single-threaded; all of its memory is static. See process/protocol.hpp.
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "process/shim/child.hpp"
#include "process/shim/io.hpp"
#include "process/shim/launch.hpp"
#include "process/shim/record.hpp"
#include "process/shim/tree.hpp"

namespace agent::process::shim {
namespace {

constexpr int gate = STDIN_FILENO;
constexpr std::int64_t launch_timeout_ms = 30'000;
constexpr std::int64_t record_patience_ms = 60'000;

struct Memory {
  char launch[wire::max_launch];
  char release[wire::max_release + 1];
  TreeEntry processes[65536];
};

[[noreturn]] void refuse(wire::Stage stage, int error_number) {
  const wire::Failure failure{static_cast<std::uint32_t>(stage), error_number, 0};
  send_frame(gate, wire::Kind::failed, &failure, sizeof failure);
  ::_exit(1);
}

int catch_signals() {
  // Dispositions are what posix_spawn reset them to; these must not end the one who records.
  for (const int ignored : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGUSR2})
    std::signal(ignored, SIG_IGN);
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGCHLD, wire::stop_signal, wire::kill_signal})
    ::sigaddset(&wanted, number);
  if (::sigprocmask(SIG_BLOCK, &wanted, nullptr) != 0) refuse(wire::Stage::message, errno);
  const int fd = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) refuse(wire::Stage::message, errno);
  return fd;
}

int open_directory(int at, const char* path, wire::Stage stage) {
  const int fd = ::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) refuse(stage, errno);
  return fd;
}

// Joins the shim's leaf of the group; answers the directory of the job's leaf, -1 without a group.
int join_cgroup(const char* cgroup) {
  if (cgroup[0] == 0) return -1;
  const int group = open_directory(AT_FDCWD, cgroup, wire::Stage::cgroup);
  const int own = open_directory(group, wire::shim_leaf, wire::Stage::cgroup);
  const int procs = ::openat(own, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (procs < 0) refuse(wire::Stage::cgroup, errno);
  const int failure = write_all(procs, "0", 1);
  if (failure != 0) refuse(wire::Stage::cgroup, failure);
  ::close(procs);
  ::close(own);
  const int job = open_directory(group, wire::job_leaf, wire::Stage::cgroup);
  ::close(group);
  return job;
}

struct Asked {
  bool stop = false;
  bool kill = false;
};

// Waits for signals, at most `timeout_ms` (-1: without end).
Asked wait_signals(int signals, int timeout_ms) {
  pollfd fd{signals, POLLIN, 0};
  ::poll(&fd, 1, timeout_ms);
  Asked asked;
  signalfd_siginfo info{};
  while (::read(signals, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == static_cast<std::uint32_t>(wire::stop_signal)) asked.stop = true;
    if (info.ssi_signo == static_cast<std::uint32_t>(wire::kill_signal)) asked.kill = true;
  }
  return asked;
}

// True once the child executed; otherwise nothing of it ran. A request to end meanwhile kills it.
bool executed(const Child& child, int signals, wire::Failure& failure) {
  for (;;) {
    pollfd fds[2] = {{child.report, POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents != 0) {
      const Asked asked = wait_signals(signals, 0);
      if (asked.stop || asked.kill) ::kill(child.pid, SIGKILL);
    }
    if (fds[0].revents == 0) continue;
    const ssize_t count = ::read(child.report, &failure, sizeof failure);
    if (count < 0) continue;
    return count != static_cast<ssize_t>(sizeof failure);
  }
}

[[noreturn]] void nothing_ran(Tree& tree, int directory, int signals, const wire::Failure& failure) {
  tree.kill();
  while (!tree.reap())
    wait_signals(signals, 100);
  forget_child(directory);
  send_frame(gate, wire::Kind::failed, &failure, sizeof failure);
  ::_exit(1);
}

void detach_from_host() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || ::dup2(null, gate) < 0) ::close(gate);
  if (null > STDERR_FILENO) ::close(null);
}

// How long to wait for what may come before `end` (boot_ms, 0: no end).
int until(std::int64_t end) {
  if (end == 0) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(end - boot_ms(), 0, 60'000));
}

// Until the main child ended or its time is over, then until nothing it left behind is alive. While something
// cannot be killed the shim stays: its presence is what tells the host so.
void supervise(Tree& tree, int signals, std::int64_t end, std::int64_t& main_ended_at) {
  bool empty = tree.reap();
  bool kill = false;
  while (!tree.main_ended() && !empty) {
    const Asked asked = wait_signals(signals, kill ? 100 : until(end));
    if (asked.stop) tree.ask();
    kill = kill || asked.kill || (end != 0 && boot_ms() >= end);
    if (kill) tree.kill();
    empty = tree.reap();
  }
  main_ended_at = boot_ms();
  for (int pause_ms = 1; !empty; pause_ms = std::min(pause_ms * 2, 1000)) {
    tree.kill();
    wait_signals(signals, pause_ms);
    empty = tree.reap();
  }
}

[[noreturn]] void run(Memory& memory, int signals) {
  std::size_t size = 0;
  Launch launch;
  if (read_frame(gate, signals, boot_ms() + launch_timeout_ms, wire::Kind::launch, memory.launch,
                 sizeof memory.launch, size) != Read::done) {
    ::_exit(0);
  }
  if (!parse_launch(memory.launch, size, launch)) refuse(wire::Stage::message, EPROTO);

  const int root = open_directory(AT_FDCWD, launch.record_root, wire::Stage::record);
  const int directory = open_directory(root, launch.key, wire::Stage::record);
  const int job = join_cgroup(launch.cgroup);
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) refuse(wire::Stage::record, errno);
  int limited[wire::max_limited] = {-1, -1, -1};
  for (std::size_t i = 0; i < launch.header.limited_count; ++i)
    limited[i] = open_directory(AT_FDCWD, launch.limited[i], wire::Stage::cgroup);
  Tree tree(proc, {job, limited[0], limited[1], limited[2]}, memory.processes, std::size(memory.processes));
  send_frame(gate, wire::Kind::ready, nullptr, 0);

  // The directory's own name becomes durable while the host makes our identity durable.
  const std::int64_t deadline = boot_ms() + launch.header.gate_timeout_ms;
  ::fsync(root);
  ::close(root);
  const Read released =
      read_frame(gate, signals, deadline, wire::Kind::release, memory.release, wire::max_release, size);
  if (released != Read::done || !parse_release(memory.release, size)) {
    ::explicit_bzero(memory.release, sizeof memory.release);
    if (released == Read::done || released == Read::invalid) refuse(wire::Stage::message, EPROTO);
    ::_exit(0);
  }

  launch.environment[launch.header.environment_count] = memory.release;
  Child child;
  wire::Failure failure{};
  const bool forked = fork_child(launch, job, limited, child, failure);
  ::explicit_bzero(memory.release, sizeof memory.release);
  if (!forked) refuse(wire::Stage::fork, failure.error_number);
  tree.set_main(child.pid);
  const int unrecorded = record_child(directory, ::dirfd(proc), child.pid, launch.header.uid);
  if (unrecorded != 0) {
    nothing_ran(tree, directory, signals, {static_cast<std::uint32_t>(wire::Stage::record), unrecorded, 0});
  }
  const std::int64_t began = boot_ms();
  write_all(child.go, "1", 1);
  ::close(child.go);
  if (!executed(child, signals, failure)) nothing_ran(tree, directory, signals, failure);
  ::close(child.report);
  send_frame(gate, wire::Kind::started, nullptr, 0);
  detach_from_host();

  std::int64_t ended = 0;
  const std::int64_t limit = launch.header.time_limit_ms;
  supervise(tree, signals, limit == 0 ? 0 : began + limit, ended);
  const Ending ending{tree.main_status(), tree.out_of_memory(), ended - began};
  const std::int64_t patience = boot_ms() + record_patience_ms;
  while (record_exit(directory, ending) != 0 && boot_ms() < patience)
    wait_signals(signals, 500);
  ::_exit(0);
}

}  // namespace
}  // namespace agent::process::shim

int main() {
  using namespace agent::process::shim;
  // Its memory holds a secret for a moment, and its account is the daemon's.
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::umask(077);
  if (::chdir("/") != 0) ::_exit(1);
  const int signals = catch_signals();
  static Memory memory;
  run(memory, signals);
}
