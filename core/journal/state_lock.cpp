#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "journal/files.hpp"
#include "journal/journal.hpp"

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;

namespace {

constexpr domain::Millis kBetweenTries{20};

struct flock whole_file(short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

// A lock of the process, not of the open file: children never hold it, so it ends with this process however
// that ends, while the shims that it started live on.
bool try_lock(int fd) {
  struct flock lock = whole_file(F_WRLCK);
  return ::fcntl(fd, F_SETLK, &lock) == 0;
}

std::optional<std::int64_t> holder_of(int fd) {
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK || lock.l_pid <= 0) return std::nullopt;
  return lock.l_pid;
}

std::string named(const std::optional<std::int64_t>& holder) {
  return holder ? " (process " + std::to_string(*holder) + ")" : std::string();
}

}  // namespace

Result<StateLock> StateLock::acquire(const std::string& directory, domain::Millis patience) {
  auto real = state_directory(directory, true);
  if (!real) return real.error();
  const std::string path = *real + "/lock";
  Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!file.open()) return system_failure(errno, "open " + path);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!try_lock(file.get())) {
    const int error = errno;
    if (error != EACCES && error != EAGAIN && error != EINTR) return system_failure(error, "lock " + path);
    if (std::chrono::steady_clock::now() >= until) {
      return Error{
          ErrorCode::busy,
          "the state directory " + *real + " is in use by another daemon" + named(holder_of(file.get())) +
              "; one daemon serves a state directory. Stop that one, or configure another directory.",
          {}};
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  return StateLock{file.release()};
}

std::optional<std::int64_t> StateLock::holder(const std::string& directory) {
  const Descriptor file{::open((directory + "/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  return file.open() ? holder_of(file.get()) : std::nullopt;
}

StateLock::StateLock(StateLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

StateLock& StateLock::operator=(StateLock&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

StateLock::~StateLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace agent::journal
