// Descriptors and no-follow steps over the cache's own directories.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "domain/result.hpp"

namespace agent::package {

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

// "<what>: <what the system says>"; full for a full disk, else retry.
domain::Error system_error(std::string_view what, int error);
domain::Error cancelled_error();

inline bool asked(const std::function<bool()>& cancelled) { return cancelled && cancelled(); }

// Opens an absolute path component by component, none of which may be a link.
domain::Result<Fd> open_directory(std::string_view path);
// One entry of a directory: no link is followed and no mount entered. -1 with errno.
Fd open_entry(int directory, const char* name, int flags);
// Opens <parent>/<name>, made with `mode` if it is missing. It must be a directory of this account.
domain::Result<Fd> make_directory(int parent, const std::string& name, unsigned mode);

// The parent directories of one tree's entries, opened no-follow from its root; the last one stays open.
class Parents {
 public:
  explicit Parents(int root) : root_(root) {}
  // Descriptor of the directory that holds `path`, borrowed until the next call; -1 with errno.
  int of(std::string_view path);
  // The last component of `path`.
  static const char* name(const std::string& path);

 private:
  int root_;
  std::string path_;
  Fd open_;
};

// Removes everything below an open directory, or one entry of it whole. Bounded in descriptors and depth; a
// missing entry is success.
domain::Result<void> remove_content(int directory);
domain::Result<void> remove_entry(int directory, const std::string& name);
domain::Result<bool> is_empty(int directory);

int write_all(int fd, const char* bytes, std::size_t size);  // 0 or errno
std::string random_name();                                   // 16 hex digits

}  // namespace agent::package
