// Temporary directories outside of /tmp, for as long as the object lives: where jobs have a /tmp of their
// own, what a test keeps there is out of their sight.
#pragma once

#include <cstdlib>
#include <string>

namespace testkit {

class Elsewhere {
 public:
  Elsewhere() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", "/srv", 1);
  }
  ~Elsewhere() {
    if (before_.empty()) {
      ::unsetenv("TMPDIR");
    } else {
      ::setenv("TMPDIR", before_.c_str(), 1);
    }
  }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

 private:
  std::string before_;
};

}  // namespace testkit
