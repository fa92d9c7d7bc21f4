// What the emulator's own tests share: a temporary directory, and a listener started from an unpacked
// package.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "client/emulator_client.hpp"

namespace emulator::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);
// Runs a program to its end, at most 100 s; its exit code.
int run_program(const std::vector<std::string>& words);
void unpack(const std::string& archive, const std::filesystem::path& directory);

// One listener in a directory of its own. Killed, if it still runs, when this object goes.
class ListenerProcess {
 public:
  // `environment` is all that it gets besides PATH. No JIT value: it is started without one.
  ListenerProcess(const std::filesystem::path& root, const std::string& jit,
                  const std::map<std::string, std::string>& environment = {});
  ~ListenerProcess();
  ListenerProcess(const ListenerProcess&) = delete;
  ListenerProcess& operator=(const ListenerProcess&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The exit code, 128 + signal if one killed it; nothing if it still runs after 30 s.
  std::optional<int> wait();

 private:
  pid_t pid_ = -1;
};

// An unpacked package with the emulator that it belongs to.
struct Stage {
  explicit Stage(const EmulatorOptions& options = {});
  // A fresh directory with an unpacked package.
  std::filesystem::path fresh_root();
  // Registers and starts a listener for o/r; returns when it has connected (a waiting job may be over by
  // then).
  std::unique_ptr<ListenerProcess> online_listener(
      const std::string& name, const std::vector<std::string>& labels, std::filesystem::path* root = nullptr,
      const std::map<std::string, std::string>& environment = {});

  TemporaryDirectory directory;
  EmulatorProcess emulator;
  int roots = 0;
};

EmulatorOptions one_repository();

}  // namespace emulator::testing
