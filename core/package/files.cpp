#include "package/files.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace agent::package {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Error system_error(std::string_view what, int error) {
  auto code = ErrorCode::retry;
  if (error == ENOSPC || error == EDQUOT) code = ErrorCode::full;
  return Error{code, std::string(what) + ": " + std::generic_category().message(error)};
}

Error cancelled_error() {
  return Error{ErrorCode::cancelled, "the work on the runner package was cancelled"};
}

Result<Fd> open_directory(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string_view::npos) {
    return Error{ErrorCode::invalid,
                 "a directory must be named by an absolute path, not '" + std::string(path) + "'"};
  }
  Fd here(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (auto rest = path.substr(1); here && !rest.empty();) {
    const auto slash = rest.find('/');
    const std::string part(rest.substr(0, slash));
    rest.remove_prefix(slash == std::string_view::npos ? rest.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    here = Fd(::openat(here.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  Fd opened;
  if (here) opened = Fd(::openat(here.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return system_error("cannot open the directory " + std::string(path), errno);
  return opened;
}

Fd open_entry(int directory, const char* name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  const auto fd = ::syscall(SYS_openat2, directory, name, &how, sizeof how);
  if (fd >= 0) return Fd(static_cast<int>(fd));
  if (errno != ENOSYS && errno != EPERM && errno != EAGAIN) return {};
  return Fd(::openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC));
}

Result<Fd> make_directory(int parent, const std::string& name, unsigned mode) {
  if (::mkdirat(parent, name.c_str(), mode) != 0 && errno != EEXIST) {
    return system_error("cannot make the directory " + name + " of the package cache", errno);
  }
  Fd opened(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!opened || ::fstat(opened.get(), &info) != 0) {
    return system_error("cannot open the directory " + name + " of the package cache", errno);
  }
  if (info.st_uid != ::geteuid()) {
    return Error{ErrorCode::denied,
                 "the directory " + name +
                     " of the package cache belongs to another account; give it to this one, "
                     "or name another cache"};
  }
  if ((info.st_mode & 07777U) != mode && ::fchmod(opened.get(), mode) != 0) {
    return system_error("cannot close the directory " + name + " of the package cache to others", errno);
  }
  return opened;
}

int Parents::of(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return root_;
  const auto parent = path.substr(0, slash);
  if (open_ && parent == path_) return open_.get();
  open_ = Fd();
  path_ = std::string(parent);
  Fd here;
  for (auto rest = parent; !rest.empty();) {
    const auto end = rest.find('/');
    const std::string part(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    here = open_entry(here ? here.get() : root_, part.c_str(), O_PATH | O_DIRECTORY);
    if (!here) return -1;
  }
  open_ = std::move(here);
  return open_.get();
}

const char* Parents::name(const std::string& path) {
  const auto slash = path.rfind('/');
  return path.c_str() + (slash == std::string::npos ? 0 : slash + 1);
}

int write_all(int fd, const char* bytes, std::size_t size) {
  while (size > 0) {
    const auto written = ::write(fd, bytes, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

std::string random_name() {
  std::array<unsigned char, 8> bytes{};
  for (std::size_t have = 0; have < bytes.size();) {
    const auto got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += kHex[byte >> 4U];
    text += kHex[byte & 15U];
  }
  return text;
}

}  // namespace agent::package
