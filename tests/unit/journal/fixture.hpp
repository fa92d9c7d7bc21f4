// A journal in a temporary directory of its own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "journal/journal.hpp"
#include "unit/journal/sample.hpp"

namespace agent::journal {

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "journal-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
    directory_ = std::filesystem::canonical(pattern).string();
  }
  ~JournalTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] std::string state() const { return directory_ + "/state"; }
  [[nodiscard]] std::string path() const { return state() + "/journal.db"; }
  [[nodiscard]] OpenOptions options() const {
    OpenOptions made;
    made.path = path();
    made.exclusive = false;
    made.installation = "installation-1";
    made.machine = "machine-1";
    made.busy_timeout = domain::Millis{100};
    return made;
  }
  [[nodiscard]] std::unique_ptr<Journal> open() const { return open(options()); }
  [[nodiscard]] static std::unique_ptr<Journal> open(const OpenOptions& options) {
    auto journal = Journal::open(options);
    if (!journal) {
      ADD_FAILURE() << journal.error().message;
      return nullptr;
    }
    return std::move(*journal);
  }

  static std::string bytes_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write_file(const std::string& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  }
  static mode_t mode_of(const std::string& file) {
    struct stat info {};
    return ::lstat(file.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }

  std::string directory_;
};

// Batches of attempts alone.
inline Batch batch(std::vector<domain::Attempt> attempts) { return {std::move(attempts), {}}; }

}  // namespace agent::journal

#define ASSERT_OK(expression)                               \
  do {                                                      \
    const auto& outcome_ = (expression);                    \
    ASSERT_TRUE(outcome_.ok()) << outcome_.error().message; \
  } while (false)
#define EXPECT_OK(expression)                               \
  do {                                                      \
    const auto& outcome_ = (expression);                    \
    EXPECT_TRUE(outcome_.ok()) << outcome_.error().message; \
  } while (false)
