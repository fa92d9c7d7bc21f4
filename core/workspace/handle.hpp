// Descriptors and the few no-follow steps that the rest of this room is made of.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/result.hpp"

namespace agent::workspace {

// Owns one file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// "<what>: <what the system says about error>", with the code that decides what happens next.
domain::Error system_error(std::string_view what, int error);

// True for a name that is one entry of a directory: not empty, no '/', no NUL, not "." or "..", at most 255
// bytes.
bool is_entry_name(std::string_view name);

// The components of an absolute path without "" and "."; nothing when it is relative or has "..".
std::optional<std::vector<std::string>> components(std::string_view path);

// Opens an absolute path component by component, none of which may be a link.
domain::Result<Fd> open_directory(std::string_view path);

// As open_directory, for all but the last component, which need not exist.
struct Place {
  Fd parent;
  std::string name;
};
domain::Result<Place> open_parent(std::string_view path);

// Writes all of `text`; errno of the first failure, 0 for success.
int write_all(int fd, std::string_view text);

// Removes the file `name` of a directory; errno, 0 also when nothing has that name.
int remove_file(int directory, const std::string& name);

// 16 random hex digits, for names that nobody else can guess.
std::string random_suffix();

}  // namespace agent::workspace
