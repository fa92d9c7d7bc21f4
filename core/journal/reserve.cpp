#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "journal/files.hpp"
#include "journal/journal.hpp"

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;

namespace {

constexpr off_t kReserve = off_t{16} * 1024 * 1024;

std::string reserve_path(const std::string& directory) { return directory + "/reserve"; }

// A file with holes would give up nothing.
bool is_whole(const struct stat& info) {
  constexpr off_t kBlock = 512;  // the unit of st_blocks
  return info.st_size == kReserve && off_t{info.st_blocks} * kBlock >= kReserve;
}

// The reserve, and as much again for what is started beside it.
constexpr std::uint64_t kWanted = 2 * std::uint64_t{kReserve};

// `is`: how its disk fares, as a word of the sentence.
Result<void> check_room(const std::string& directory, const char* is) {
  struct statvfs filesystem {};
  if (::statvfs(directory.c_str(), &filesystem) != 0)
    return system_failure(errno, "look at the file system of " + directory);
  const std::uint64_t free = std::uint64_t{filesystem.f_bavail} * filesystem.f_frsize;
  if (free >= kWanted) return {};
  return Error{ErrorCode::full,
               "The disk of the state directory " + directory + ' ' + is + " full. It has " +
                   std::to_string(free >> 20U) + " MiB free, and nothing new is started before it has " +
                   std::to_string(kWanted >> 20U) +
                   " MiB; runners that are there are ended and cleaned. Free space on it.",
               {}};
}

// A file system that met an error refuses writes without showing it to those who only look, so a file without
// a name is asked for.
bool refuses_writes(const std::string& directory) {
  struct statvfs filesystem {};
  if (::statvfs(directory.c_str(), &filesystem) == 0 && (filesystem.f_flag & ST_RDONLY) != 0) return true;
  const Descriptor file{::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600)};
  return !file.open() && errno == EROFS;
}

Result<void> allocate(int fd, const std::string& path) {
  int error = 0;
  do {
    error = ::posix_fallocate(fd, 0, kReserve);
  } while (error == EINTR);
  if (error != 0) return system_failure(error, "reserve 16 MiB in " + path);
  if (::fsync(fd) != 0) return system_failure(errno, "sync " + path);
  return {};
}

}  // namespace

Result<void> ensure_reserve(const std::string& directory) {
  auto real = state_directory(directory, true);
  if (!real) return real.error();
  const std::string path = reserve_path(*real);
  const Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file.open()) return system_failure(errno, "open " + path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_failure(errno, "look at " + path);
  if (is_whole(info)) return {};
  auto allocated = allocate(file.get(), path);
  // Half a reserve only makes a full disk fuller.
  if (!allocated) static_cast<void>(remove_file(path));
  return allocated;
}

Result<void> restore_reserve(const std::string& directory) {
  if (auto room = check_room(directory, "was"); !room) return room;
  return ensure_reserve(directory);
}

Result<void> start_reserve(const std::string& directory) {
  auto reserved = exists(reserve_path(directory));
  if (!reserved) return reserved.error();
  auto used = exists(directory + "/journal.db");
  if (!used) return used.error();
  return *used && !*reserved ? restore_reserve(directory) : ensure_reserve(directory);
}

Result<void> check_place(const std::string& directory) {
  if (refuses_writes(directory)) {
    return Error{
        ErrorCode::denied,
        "The file system of the state directory " + directory +
            " is read-only. Find out why (its errors are in the kernel's log), then mount it writable.",
        {}};
  }
  struct stat info {};
  if (::stat(reserve_path(directory).c_str(), &info) == 0 && is_whole(info)) return {};
  return check_room(directory, "is");
}

Result<void> give_up_reserve(const std::string& directory) { return remove_file(reserve_path(directory)); }

}  // namespace agent::journal
