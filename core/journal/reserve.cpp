#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "journal/files.hpp"
#include "journal/journal.hpp"

namespace agent::journal {

namespace {

constexpr off_t kReserve = off_t{16} * 1024 * 1024;

std::string reserve_path(const std::string& directory) { return directory + "/reserve"; }

// A file with holes would give up nothing.
Result<bool> holds_its_blocks(int fd, const std::string& path) {
  constexpr off_t kBlock = 512;  // the unit of st_blocks
  struct stat info {};
  if (::fstat(fd, &info) != 0) return system_failure(errno, "look at " + path);
  return info.st_size == kReserve && off_t{info.st_blocks} * kBlock >= kReserve;
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
  auto whole = holds_its_blocks(file.get(), path);
  if (!whole) return whole.error();
  if (*whole) return {};
  auto allocated = allocate(file.get(), path);
  // Half a reserve only makes a full disk fuller.
  if (!allocated) static_cast<void>(remove_file(path));
  return allocated;
}

Result<void> give_up_reserve(const std::string& directory) { return remove_file(reserve_path(directory)); }

}  // namespace agent::journal
