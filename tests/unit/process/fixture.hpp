// Real shims and real children in a directory of their own; every wait is a bounded poll.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "process/process.hpp"

namespace agent::process::testing {

using domain::ErrorCode;
using domain::Millis;

// Polls until true or 20 s are over.
bool eventually(const std::function<bool()>& condition);
std::string read_text(const std::string& path);  // empty if there is none
void write_text(const std::string& path, const std::string& text);
bool exists(const std::string& path);
bool alive(std::int64_t pid);                    // false for zombies
std::int64_t read_pid(const std::string& path);  // waits until the file holds a number
std::size_t open_descriptors();
std::size_t zombies();  // children of this program that nobody reaped

// A temporary directory, removed with what is in it.
class Directory {
 public:
  Directory();
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A cgroup v2 directory for one test; empty path when this machine gives us none.
class CgroupRoot {
 public:
  CgroupRoot();
  ~CgroupRoot();
  CgroupRoot(const CgroupRoot&) = delete;
  CgroupRoot& operator=(const CgroupRoot&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline constexpr const char* secret_name = "THE_SECRET";
inline constexpr const char* secret = "needle-7f3a";

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] Options options() const;
  std::unique_ptr<ProcessHost> make_host();
  // A shell that runs `script` in the work directory.
  [[nodiscard]] Spec shell(const std::string& key, const std::string& script) const;
  ProcessIdentity hold(const Spec& spec);
  Result<void> release(const std::string& key, const ProcessIdentity& identity);
  ProcessIdentity start(const Spec& spec);
  // Waits until the key is exited (or missing) and answers how.
  State wait_end(const std::string& key, const ProcessIdentity& identity);
  State run(const std::string& key, const std::string& script);
  int exits(const std::string& key);  // how often on_exit named the key

  Directory directory_;
  std::string work_ = directory_.path() + "/work";
  CgroupPlaces cgroups_;
  Millis gate_timeout_{30'000};
  std::unique_ptr<ProcessHost> host_;

 private:
  std::vector<std::pair<std::string, ProcessIdentity>> made_;
  std::mutex mutex_;
  std::map<std::string, int> exits_;
};

// Runs each test with process groups alone and with a cgroup.
class TreeTest : public ProcessTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override;

 private:
  std::unique_ptr<CgroupRoot> root_;
};

}  // namespace agent::process::testing
