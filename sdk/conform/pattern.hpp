// POSIX extended regular expressions. Not std::regex: these need no recursion, so no text can exhaust the
// stack.
#pragma once

#include <regex.h>

#include <string>

namespace rmgr::conform {

class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : ok_(text.find('\0') == std::string::npos &&
            ::regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  ~Pattern() {
    if (ok_) ::regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool found_in(const std::string& text) const {
    return ok_ && ::regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  bool ok_;
};

}  // namespace rmgr::conform
