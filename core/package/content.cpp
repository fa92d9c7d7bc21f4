#include "package/content.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

constexpr std::size_t kBlock = 262'144;
constexpr std::int64_t kLarge = 4 << 20;

Error mismatch() {
  return Error{ErrorCode::corrupt, "an entry of the runner package is missing or differs from its manifest"};
}

}  // namespace

ContentReader::ContentReader(int root) : parents_(root), block_(kBlock) {}

Result<std::string> ContentReader::pump(const Entry& entry, int target, const Cancelled& cancelled) {
  const int parent = parents_.of(entry.path);
  const Fd file = parent < 0 ? Fd() : open_entry(parent, Parents::name(entry.path), O_RDONLY | O_NONBLOCK);
  if (!file) {
    const bool gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EXDEV;
    return gone ? mismatch() : system_error("cannot read a file of the runner package", errno);
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_error("cannot read a file of the runner package", errno);
  if (!S_ISREG(info.st_mode) || info.st_size != entry.size || (info.st_mode & 07777U) != entry.mode) {
    return mismatch();
  }
  std::int64_t read = 0;
  while (true) {
    if (asked(cancelled)) return cancelled_error();
    const auto got = ::read(file.get(), block_.data(), block_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("cannot read a file of the runner package", errno);
    if (got == 0) break;
    read += got;
    if (read > entry.size) return mismatch();
    hash_.update(block_.data(), static_cast<std::size_t>(got));
    if (target >= 0) {
      const int error = write_all(target, block_.data(), static_cast<std::size_t>(got));
      if (error != 0) return system_error("cannot write a file of the runtime", error);
    }
  }
  auto digest = hash_.finish();
  if (read != entry.size) return mismatch();
  return digest;
}

Result<std::string> ContentReader::digest(const Entry& entry, const Cancelled& cancelled) {
  hash_.reset();
  return pump(entry, -1, cancelled);
}

Result<void> ContentReader::copy(const Entry& entry, Parents& destination, const Cancelled& cancelled) {
  const int parent = destination.of(entry.path);
  const Fd target(parent < 0
                      ? -1
                      : ::openat(parent, Parents::name(entry.path),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!target) return system_error("cannot create a file of the runtime", errno);
  hash_.reset();
  const auto digest = pump(entry, target.get(), cancelled);
  if (!digest) return digest.error();
  if (*digest != entry.content) return mismatch();
  if (::fchmod(target.get(), entry.mode) != 0) return system_error("cannot set the mode of a file", errno);
  return {};
}

void largest_first(std::vector<std::size_t>& files, const std::vector<Entry>& entries) {
  const auto small = std::stable_partition(files.begin(), files.end(),
                                           [&](std::size_t i) { return entries[i].size >= kLarge; });
  std::stable_sort(files.begin(), small,
                   [&](std::size_t a, std::size_t b) { return entries[a].size > entries[b].size; });
}

}  // namespace agent::package
