// A directory of one test's own, removed with everything in it at the end.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace testkit {

class TemporaryDirectory {
 public:
  // Job accounts pass through 0711 on the way to their runtime; what nobody else may enter wants 0700.
  explicit TemporaryDirectory(mode_t mode = 0711) {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/rmgr-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + pattern);
    ::chmod(pattern.c_str(), mode);
    path_ = pattern;
  }
  ~TemporaryDirectory() {
    // For a look at what a failed test left.
    if (std::getenv("RMGR_KEEP_TEST_DIRECTORIES") != nullptr) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace testkit
