// What the process answers to the shell; `run` has some of its own beside these.
#pragma once

#include "daemon/daemon.hpp"

namespace agent::cli {

inline constexpr int kOk = daemon::kExitOk;
inline constexpr int kFailed = daemon::kExitFailed;
inline constexpr int kUsage = 2;
inline constexpr int kConfigurationRefused = daemon::kExitConfiguration;
inline constexpr int kNotRunning = 4;
inline constexpr int kStateUnusable = daemon::kExitState;

// The table as --help shows it.
inline constexpr const char* kExitCodesHelp =
    "Exit codes:\n"
    "  0  done\n"
    "  1  failed\n"
    "  2  the command line is wrong\n"
    "  3  the configuration was refused\n"
    "  4  the daemon does not run\n"
    "  5  the state directory is in use or cannot be used\n"
    "  6  a plugin instance that the configuration requires is not ready (run)";

}  // namespace agent::cli
