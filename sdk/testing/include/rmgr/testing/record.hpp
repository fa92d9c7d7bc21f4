// What a test host saw: log lines, and every rule of the contract that the plugin broke.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmgr/abi/host.h"

namespace rmgr::testing {

struct LogLine {
  std::int32_t level = RMGR_LOG_INFO;
  std::string text;
};

namespace detail {

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(at);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || at + length > text.size()) return false;
    for (std::size_t i = 1; i < length; ++i) {
      if ((byte(at + i) & 0xC0U) != 0x80U) return false;
    }
    // Forms that are longer than need be, halves of surrogate pairs, and what lies past the last code point.
    if ((lead == 0xE0 && byte(at + 1) < 0xA0) || (lead == 0xED && byte(at + 1) > 0x9F) ||
        (lead == 0xF0 && byte(at + 1) < 0x90) || (lead == 0xF4 && byte(at + 1) > 0x8F))
      return false;
    at += length;
  }
  return true;
}

}  // namespace detail

// Thread-safe.
class Record {
 public:
  // `where` names the operation or service.
  void violation(std::string_view where, std::string_view what) {
    const std::lock_guard lock(mutex_);
    violations_.push_back(std::string(where) + ": " + std::string(what));
  }
  [[nodiscard]] std::vector<std::string> violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
  }
  // Hands over what was found so far, for a test that provokes one.
  [[nodiscard]] std::vector<std::string> take_violations() {
    const std::lock_guard lock(mutex_);
    return std::exchange(violations_, {});
  }

  void log(std::int32_t level, std::string_view text) {
    const std::lock_guard lock(mutex_);
    lines_.push_back({level, std::string(text)});
  }
  [[nodiscard]] std::vector<LogLine> log_lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  // From now on this value may stand in no text that leaves the plugin. Very short ones would be found by
  // accident.
  void know_secret(std::string_view value) {
    const std::lock_guard lock(mutex_);
    if (value.size() >= 6) secrets_.emplace_back(value);
  }
  // Looks at a text that leaves the plugin; answers whether it is in order.
  bool check_text(std::string_view where, rmgr_str text, std::size_t most = 65536) {
    if (text.data == nullptr && text.size != 0) return refuse(where, "a text without bytes");
    const std::string_view view =
        text.data == nullptr ? std::string_view{} : std::string_view{text.data, text.size};
    if (view.size() > most) return refuse(where, "a text of more than " + std::to_string(most) + " bytes");
    if (!detail::is_utf8(view)) return refuse(where, "a text that is not UTF-8");
    if (holds_secret(view)) return refuse(where, "a text with a secret in it");
    return true;
  }

 private:
  bool refuse(std::string_view where, std::string_view what) {
    violation(where, what);
    return false;
  }
  bool holds_secret(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    for (const std::string& secret : secrets_) {
      if (text.find(secret) != std::string_view::npos) return true;
    }
    return false;
  }

  mutable std::mutex mutex_;
  std::vector<std::string> violations_;
  std::vector<LogLine> lines_;
  std::vector<std::string> secrets_;
};

}  // namespace rmgr::testing
