// The command line: one file for each command.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "daemon/daemon.hpp"

namespace agent::cli {

// Exit codes; docs/cli.md lists them.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kConfigurationRefused = daemon::kExitConfiguration;
inline constexpr int kNotRunning = 4;
inline constexpr int kStateRefused = daemon::kExitState;

// Where a command writes, and the agent that `run` starts.
struct Surface {
  std::ostream& out;
  std::ostream& err;
  std::function<int(const config::Configuration&, const daemon::RunOptions&)> run_agent = daemon::run;
};

// `arguments` without the program's name. Answers the exit code.
int run(const std::vector<std::string>& arguments, Surface& surface);

}  // namespace agent::cli
