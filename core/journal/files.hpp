// The files around the database: who may write them, and what makes a rename durable.
#pragma once

#include <cstdint>
#include <string>

#include "domain/result.hpp"

namespace agent::journal {

// Owns one descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  int release();

 private:
  int fd_;
};

// Failure of a system call just made, from errno; `doing` completes "cannot …".
domain::Error system_failure(int error, const std::string& doing);

// The state directory, made with 0700 if only itself is missing. Answers its real path (no symbolic links).
// Refused when others can write it or own it.
domain::Result<std::string> state_directory(const std::string& directory, bool make);

// Answers the size of a regular file of the account that owns `directory`, which nobody else can write.
domain::Result<std::int64_t> check_file(const std::string& path, const std::string& directory);

domain::Result<bool> exists(const std::string& path);

// A new empty file, 0600; an old one of that name is an error.
domain::Result<void> create_file(const std::string& path);
domain::Result<void> remove_file(const std::string& path);  // already gone is success

// Makes `from` durable and gives it the name `to` durably. Both are in `directory`.
domain::Result<void> publish(const std::string& from, const std::string& to, const std::string& directory);

}  // namespace agent::journal
