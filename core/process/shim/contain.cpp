#include "process/shim/contain.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "process/shim/io.hpp"

namespace agent::process::shim {
namespace {

// A handle of the directory, following no link on the way; -1 with errno.
int open_plainly(const char* path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const auto fd = static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return fd;
  // Before Linux 5.6, or behind a filter that does not know the call: step by step.
  int at = ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (const char* from = path; at >= 0;) {
    from += std::strspn(from, "/");
    const std::size_t length = std::strcspn(from, "/");
    if (length == 0) break;
    char name[NAME_MAX + 1];
    if (length > NAME_MAX) {
      ::close(at);
      errno = ENAMETOOLONG;
      return -1;
    }
    std::memcpy(name, from, length);
    name[length] = 0;
    const int next = ::openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    const int failure = errno;
    ::close(at);
    errno = failure;
    at = next;
    from += length;
  }
  return at;
}

// The name by which mount(2) takes exactly what a handle stands for, whatever its path means by now.
struct Handle {
  explicit Handle(int fd) { std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd); }
  char path[32];
};

int hide(const char* path) {
  const int fd = open_plainly(path);
  if (fd < 0) return errno == ENOENT ? 0 : errno;
  // Mode 0 keeps everybody but root out; root of the machine is not kept out by anything.
  const int failed = ::mount("none", Handle(fd).path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                             "size=4k,nr_inodes=2,mode=0000");
  const int failure = errno;
  ::close(fd);
  return failed == 0 ? 0 : failure;
}

int make_private(const Launch::Private& each) {
  const int target = open_plainly(each.target);
  if (target < 0) return errno;
  int failed = -1;
  if (each.backing[0] == 0) {
    failed = ::mount("none", Handle(target).path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
  } else {
    const int backing = open_plainly(each.backing);
    if (backing < 0) return errno;
    failed = ::mount(Handle(backing).path, Handle(target).path, nullptr, MS_BIND, nullptr);
  }
  return failed == 0 ? 0 : errno;
}

}  // namespace

void give_up(int report, wire::Stage stage, int error_number, std::size_t index) {
  const wire::Failure failure{static_cast<std::uint32_t>(stage), error_number,
                              static_cast<std::uint32_t>(index)};
  write_all(report, &failure, sizeof failure);
  ::_exit(127);
}

void arrange_mounts(const Launch& launch, int report) {
  const wire::LaunchHeader& header = launch.header;
  if (header.hidden_count == 0 && header.private_count == 0) return;
  if (::unshare(CLONE_NEWNS) != 0) give_up(report, wire::Stage::mounts, errno);
  // Not private: a directory that the daemon unmounts must not stay mounted here for as long as this job
  // runs.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    give_up(report, wire::Stage::mounts, errno);
  for (std::size_t i = 0; i < header.private_count; ++i) {
    const int failure = make_private(launch.privates[i]);
    if (failure != 0) give_up(report, wire::Stage::make_private, failure, i);
  }
  // Last, so that nothing made above shows what is hidden.
  for (std::size_t i = 0; i < header.hidden_count; ++i) {
    const int failure = hide(launch.hidden[i]);
    if (failure != 0) give_up(report, wire::Stage::hide, failure, i);
  }
}

void limit_resources(const Launch& launch, int report) {
  const wire::LaunchHeader& header = launch.header;
  if (header.nice != 0 && ::setpriority(PRIO_PROCESS, 0, header.nice) != 0)
    give_up(report, wire::Stage::nice, errno);
  for (std::size_t i = 0; i < header.resource_limit_count; ++i) {
    const wire::ResourceLimit& asked = launch.resource_limits[i];
    const auto resource = static_cast<__rlimit_resource>(asked.resource);
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0) give_up(report, wire::Stage::resource_limit, errno, i);
    // RLIM_INFINITY is the largest number there is.
    limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(asked.value));
    limit.rlim_cur = limit.rlim_max;
    if (::setrlimit(resource, &limit) != 0) give_up(report, wire::Stage::resource_limit, errno, i);
  }
}

}  // namespace agent::process::shim
