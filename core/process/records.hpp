// The files of each key, read and removed by the host. See protocol.hpp for what they mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "process/fd.hpp"
#include "process/process.hpp"

namespace agent::process {

struct ExitRecord {
  int code = 0;
  int signal = 0;
  bool out_of_memory = false;
};

struct ChildRecord {
  ProcessIdentity identity;
  std::int64_t uid = 0;
};

Result<ExitRecord> parse_exit_record(std::string_view text);
Result<ChildRecord> parse_child_record(std::string_view text);

// Thread-safe: holds nothing but the directory.
class Records {
 public:
  // Makes the directory if it is missing; refuses one that others may enter or write.
  static Result<Records> open(const std::string& path);

  // An empty place for the key. `exists` if something ran under this key before.
  [[nodiscard]] Result<void> make(std::string_view key) const;
  [[nodiscard]] Result<void> mark_released(std::string_view key) const;
  [[nodiscard]] Result<bool> released(std::string_view key) const;
  [[nodiscard]] Result<std::optional<ExitRecord>> exit_record(std::string_view key) const;
  [[nodiscard]] Result<std::optional<ChildRecord>> child_record(std::string_view key) const;
  [[nodiscard]] Result<void> remove(std::string_view key) const;

 private:
  explicit Records(Fd directory) : directory_(std::move(directory)) {}
  [[nodiscard]] Result<std::optional<std::string>> read(std::string_view key, const char* file) const;
  Fd directory_;
};

// A name that is safe as a file name, a cgroup's name and an argument.
Result<void> check_key(std::string_view key);

}  // namespace agent::process
