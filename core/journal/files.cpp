#include "journal/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = other.release();
  }
  return *this;
}
Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}
int Descriptor::release() { return std::exchange(fd_, -1); }

namespace {

ErrorCode code_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return ErrorCode::full;
    case ENOENT: return ErrorCode::not_found;
    case EEXIST: return ErrorCode::exists;
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENOTDIR:
    case EISDIR: return ErrorCode::denied;
    default: return ErrorCode::retry;
  }
}

Result<void> sync_path(const std::string& path, int flags) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | flags)};
  if (!file.open()) return system_failure(errno, "open " + path);
  if (::fsync(file.get()) != 0) return system_failure(errno, "sync " + path);
  return {};
}

Result<void> check_writers(const struct stat& info, const std::string& path, std::optional<uid_t> owner) {
  if (owner && info.st_uid != *owner) {
    return Error{ErrorCode::denied,
                 path + " belongs to account " + std::to_string(info.st_uid) + ", the daemon's is " +
                     std::to_string(*owner) +
                     "; give it the right owner or start the daemon as that account.",
                 {}};
  }
  if ((info.st_mode & 022) != 0) {
    return Error{ErrorCode::denied, path + " can be written by others; run: chmod go-w " + path, {}};
  }
  return {};
}

}  // namespace

Error system_failure(int error, const std::string& doing) {
  return Error{code_of(error), "cannot " + doing + ": " + std::generic_category().message(error) + ".", {}};
}

Result<std::string> state_directory(const std::string& directory, bool make) {
  if (make && ::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_failure(errno, "make the state directory " + directory);
  }
  const std::unique_ptr<char, decltype(&std::free)> real{::realpath(directory.c_str(), nullptr), &std::free};
  if (real == nullptr) return system_failure(errno, "find the state directory " + directory);
  std::string path = real.get();
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return system_failure(errno, "look at the state directory " + path);
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::denied, path + " is not a directory.", {}};
  const auto owner = make ? std::optional(::geteuid()) : std::nullopt;
  if (auto checked = check_writers(info, path, owner); !checked) return checked.error();
  return path;
}

Result<std::int64_t> check_file(const std::string& path, const std::string& directory) {
  struct stat around {};
  if (::stat(directory.c_str(), &around) != 0) return system_failure(errno, "look at " + directory);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return system_failure(errno, "look at " + path);
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::denied, path + " is not a regular file.", {}};
  if (auto checked = check_writers(info, path, around.st_uid); !checked) return checked.error();
  return std::int64_t{info.st_size};
}

Result<bool> exists(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT) return false;
  return system_failure(errno, "look at " + path);
}

Result<void> create_file(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file.open()) return system_failure(errno, "make " + path);
  return {};
}

Result<void> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return system_failure(errno, "remove " + path);
}

Result<void> publish(const std::string& from, const std::string& to, const std::string& directory) {
  if (auto synced = sync_path(from, 0); !synced) return synced;
  if (::rename(from.c_str(), to.c_str()) != 0) return system_failure(errno, "rename " + from + " to " + to);
  return sync_path(directory, O_DIRECTORY);
}

}  // namespace agent::journal
