// The last requests, bounded, without any header value of the caller.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

namespace emulator {

struct LoggedRequest {
  std::int64_t sequence = 0;
  std::int64_t at_ms = 0;
  std::string method;
  std::string path;  // without the /api/v3 prefix
  std::string query;
  int status = 0;     // 0: no answer was given
  std::string fault;  // the action that it met, if any
};

class RequestLog {
 public:
  void add(LoggedRequest entry) {
    entry.sequence = ++total_;
    entries_.push_back(std::move(entry));
    if (entries_.size() > kMost) entries_.pop_front();
  }
  void clear() { entries_.clear(); }
  [[nodiscard]] const std::deque<LoggedRequest>& entries() const { return entries_; }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  static constexpr std::size_t kMost = 20'000;
  std::deque<LoggedRequest> entries_;
  std::int64_t total_ = 0;
};

}  // namespace emulator
