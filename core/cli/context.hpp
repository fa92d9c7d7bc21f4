// What a command may touch of the world around it, so that tests can put something else there.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "daemon/daemon.hpp"
#include "domain/result.hpp"

namespace agent::cli {

using RunDaemon = std::function<int(const config::Configuration&, const daemon::RunOptions&)>;

struct Context {
  std::ostream& out;
  std::ostream& err;
  RunDaemon run_daemon;
  std::string program_directory;
  std::string default_configuration = "/etc/runner-manager/config.yaml";
};

// `arguments` without the program's name. Answers the exit code.
int dispatch(const std::vector<std::string>& arguments, Context& context);

// Where the daemon listens: given, or read from a configuration.
struct Place {
  std::string socket;
  std::string configuration;  // both empty: the default configuration
};

// The configuration, or nothing after its problems were printed to err.
std::optional<config::Configuration> load(const std::string& path, Context& context);

// Prints "runner-manager: …" to err and answers the exit code that fits the error.
int report(const domain::Error& error, Context& context);

}  // namespace agent::cli
