// An append-only file that log lines are written to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/result.hpp"

namespace agent::observe {

// Not thread-safe; the sink above it locks.
class LogFile {
 public:
  static domain::Result<LogFile> open(const std::string& path);  // empty: standard error
  LogFile(LogFile&& other) noexcept;
  LogFile& operator=(LogFile&& other) noexcept;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  // False: the line, or its end, could not be written.
  bool append(std::string_view line);

 private:
  LogFile(int fd, bool owned) : fd_(fd), owned_(owned) {}
  int fd_ = -1;
  bool owned_ = false;
  bool broken_line_ = false;  // the last write ended inside a line
};

}  // namespace agent::observe
