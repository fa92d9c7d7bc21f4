#include "mirror/directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include "rmgr/error.hpp"

namespace plugins::mirror {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr std::size_t kMaxNames = 10'000;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::string reason(int code) { return std::generic_category().message(code); }

void check(const struct stat& status, const std::string& what) {
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    throw Error(Status::denied,
                what + " belongs to another account; give it to root or to the daemon's account.");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    throw Error(Status::denied, what + " can be written by others; run chmod go-w on it.");
  }
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::string File::validator() const {
  const auto time = [](const timespec& t) {
    return std::to_string(t.tv_sec) + "." + std::to_string(t.tv_nsec);
  };
  return std::to_string(status.st_dev) + "-" + std::to_string(status.st_ino) + "-" +
         std::to_string(status.st_size) + "-" + time(status.st_mtim) + "-" + time(status.st_ctim);
}

Descriptor Directory::open_directory() const {
  Descriptor directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.get() < 0) {
    const int code = errno;
    if (code == ELOOP || code == ENOTDIR) {
      throw Error(Status::denied,
                  "The mirror's directory is a link or no directory; name the directory itself.");
    }
    const auto status = code == EACCES || code == EPERM ? Status::denied : Status::unreachable;
    throw Error(status, "The mirror's directory cannot be opened: " + reason(code) + ".");
  }
  struct stat status {};
  if (::fstat(directory.get(), &status) != 0) {
    throw Error(Status::unreachable, "The mirror's directory cannot be examined: " + reason(errno) + ".");
  }
  check(status, "The mirror's directory");
  return directory;
}

std::vector<std::string> Directory::names() const {
  const auto opened = open_directory();
  // A descriptor of its own, since closedir closes what it reads from.
  const int own = ::openat(opened.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseDirectory> reading(own < 0 ? nullptr : ::fdopendir(own));
  if (!reading) {
    const int code = errno;
    if (own >= 0) ::close(own);
    throw Error(Status::unreachable, "The mirror's directory cannot be read: " + reason(code) + ".");
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const auto* entry =
        ::readdir(reading.get());  // NOLINT(concurrency-mt-unsafe) the stream is this call's own
    if (entry == nullptr) break;
    if (names.size() == kMaxNames) {
      throw Error(Status::denied,
                  "The mirror's directory holds more than 10,000 names; remove what is not a package.");
    }
    names.emplace_back(entry->d_name);
  }
  if (errno != 0)
    throw Error(Status::unreachable, "The mirror's directory cannot be read: " + reason(errno) + ".");
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<File> Directory::open(const std::string& name) const {
  const auto directory = open_directory();
  // Without blocking, so that a FIFO of that name cannot hold the call.
  File file{
      Descriptor(::openat(directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))};
  if (file.descriptor.get() < 0) {
    const int code = errno;
    if (code == ENOENT) return std::nullopt;
    throw Error(Status::denied, "The mirror's file " + name + " cannot be opened: " + reason(code) + ".");
  }
  if (::fstat(file.descriptor.get(), &file.status) != 0 || !S_ISREG(file.status.st_mode)) {
    throw Error(Status::denied, "The mirror's file " + name + " is not a regular file.");
  }
  check(file.status, "The mirror's file " + name);
  return file;
}

std::optional<std::string> Directory::read(const std::string& name, std::size_t most) const {
  const auto file = open(name);
  if (!file || file->status.st_size > static_cast<off_t>(most)) return std::nullopt;
  std::string text(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const auto got = ::read(file->descriptor.get(), text.data() + size, most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(Status::retry, "The mirror's file " + name + " cannot be read: " + reason(errno) + ".");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace plugins::mirror
