// Where log lines go: standard error or one file, as JSON objects or as readable lines.
#pragma once

#include <memory>
#include <string>

#include "domain/result.hpp"
#include "observe/log.hpp"

namespace agent::observe {

struct LogOptions {
  Level level = Level::info;  // less is not written
  std::string file;           // absolute; empty: standard error
  bool json = true;           // false: readable lines, as a person in front of a terminal wants them
};

// A Log with a file behind it. A line is written with one write(2) where the file takes it whole; what cannot
// be written is lost and counted, and the next line that can says so.
class LogSink : public Log {
 public:
  // Opens the file of the same name anew, after it was rotated away. On failure the old one stays in use.
  virtual domain::Result<void> reopen() = 0;
};

// Creates the file with mode 0600 and appends; a link in its place is refused.
domain::Result<std::unique_ptr<LogSink>> make_log(const LogOptions& options);

// The longest value that is printed, in bytes; longer ones are cut.
inline constexpr std::size_t kLongestValue = 2048;

}  // namespace agent::observe
