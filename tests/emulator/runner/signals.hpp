// Signals as a descriptor, and a child that starts with none of them blocked.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace emulator::runner {

// SIGTERM, SIGINT and SIGCHLD, blocked in this process and readable from fd().
class SignalFd {
 public:
  SignalFd();
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  // The next pending SIGTERM or SIGINT, or 0; SIGCHLD is swallowed. Waits at most so long for any signal.
  int next(int wait_ms);

 private:
  int fd_ = -1;
};

struct Launch {
  std::filesystem::path program{};
  std::vector<std::string> arguments{};  // without the program's name
  std::filesystem::path directory{};     // empty: where we are
  bool keeps_signals_blocked = false;  // a child that reads its signals as we do misses none while it starts
  int passed_from = -1;                // this descriptor becomes number 3 in the child
  std::filesystem::path output{};      // where its two outputs are appended; empty: where ours go
};

// -1 if it could not be started.
pid_t launch(const Launch& wanted);

// The exit code of a child that has ended (128 + signal if one killed it); nothing while it runs.
std::optional<int> reap(pid_t child);

}  // namespace emulator::runner
