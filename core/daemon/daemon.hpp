// The agent itself: wires configuration, journal, plugins and engine together, and runs them on one loop
// thread.
#pragma once

#include <string>

#include "config/config.hpp"

namespace agent::daemon {

// Exit codes of `runner-manager run`.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitConfiguration = 3;  // valid on its own, but not with these plugins
inline constexpr int kExitState = 5;          // the state directory or its journal cannot be used
inline constexpr int kExitPlugin = 6;         // an instance that the configuration requires is not ready

struct RunOptions {
  std::string program_directory;  // where rmgr-shim and the other helpers are
  std::string config_file;        // what a reload reads again
};

// Runs until SIGTERM or SIGINT, drains, and answers the exit code. Runners that are alive stay for the next
// start.
int run(const config::Configuration& configuration, const RunOptions& options);

}  // namespace agent::daemon
