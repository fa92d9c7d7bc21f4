#include "process/cgroup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "process/protocol.hpp"

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;

Error failed(std::string_view key, const char* what, int error_number) {
  return Error{ErrorCode::retry, "The cgroup of " + std::string(key) + " could not be " + what + ": " +
                                     std::strerror(error_number) + "."};
}

// Removes the directories below `at`/`name` and itself. Files of a cgroup vanish with their directory.
int remove_tree(int at, const std::string& name, int depth) {
  constexpr int max_depth = 32;
  if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  if (depth == max_depth) return ELOOP;
  const int fd = ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? 0 : errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), ::closedir);
  if (!directory) {
    ::close(fd);
    return ENOMEM;
  }
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_type != DT_DIR || std::strcmp(entry->d_name, ".") == 0 ||
        std::strcmp(entry->d_name, "..") == 0) {
      continue;
    }
    const int failure = remove_tree(fd, entry->d_name, depth + 1);
    if (failure != 0) return failure;
  }
  return ::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
}

}  // namespace

Result<Cgroups> Cgroups::open(const std::string& root) {
  if (root.empty()) return Cgroups(Fd(), root);
  Fd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::faccessat(fd.get(), "cgroup.procs", W_OK, AT_EACCESS) != 0) {
    return Error{ErrorCode::invalid, "The cgroup root " + root +
                                         " is not a cgroup v2 directory that this account can "
                                         "write: " +
                                         std::strerror(errno) + ". Delegate one, or leave it empty."};
  }
  return Cgroups(std::move(fd), root);
}

std::string Cgroups::path(std::string_view key) const {
  return enabled() ? path_ + '/' + std::string(key) : std::string();
}

Result<void> Cgroups::make(std::string_view key) const {
  if (!enabled()) return {};
  const std::string group(key);
  for (const std::string& name : {group, group + '/' + wire::shim_leaf, group + '/' + wire::job_leaf}) {
    if (::mkdirat(root_.get(), name.c_str(), 0755) != 0 && errno != EEXIST) return failed(key, "made", errno);
  }
  const std::string kill_file = group + '/' + wire::job_leaf + "/cgroup.kill";
  if (::faccessat(root_.get(), kill_file.c_str(), W_OK, AT_EACCESS) != 0) {
    return Error{ErrorCode::unsupported,
                 "The kernel's cgroups have no cgroup.kill (Linux 5.14 or later is needed); "
                 "configure no cgroup root to work without."};
  }
  return {};
}

Result<bool> Cgroups::populated(std::string_view key) const {
  if (!enabled()) return false;
  const Fd fd(::openat(root_.get(), (std::string(key) + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT) return false;
    return failed(key, "examined", errno);
  }
  char text[256];
  const ssize_t size = ::read(fd.get(), text, sizeof text);
  if (size <= 0) return size == 0 || errno == ENODEV ? Result<bool>(false) : failed(key, "examined", errno);
  const std::string_view events(text, static_cast<std::size_t>(size));
  if (events.find("populated 0") != std::string_view::npos) return false;
  if (events.find("populated 1") != std::string_view::npos) return true;
  return failed(key, "examined", EPROTO);
}

Result<void> Cgroups::kill(std::string_view key, domain::Millis timeout) const {
  const auto give_up = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    auto some = populated(key);
    if (!some) return some.error();
    if (!*some) return {};
    const Fd fd(::openat(root_.get(), (std::string(key) + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), "1", 1) != 1) return failed(key, "ended", errno);
    if (std::chrono::steady_clock::now() >= give_up) {
      return Error{ErrorCode::busy,
                   "Processes in the cgroup of " + std::string(key) + " did not end when killed."};
    }
    std::this_thread::sleep_for(domain::Millis(5));
  }
}

Result<void> Cgroups::remove(std::string_view key) const {
  if (!enabled()) return {};
  const int failure = remove_tree(root_.get(), std::string(key), 0);
  if (failure == EBUSY) {
    return Error{ErrorCode::busy, "The cgroup of " + std::string(key) + " still holds processes."};
  }
  if (failure != 0) return failed(key, "removed", failure);
  return {};
}

}  // namespace agent::process
