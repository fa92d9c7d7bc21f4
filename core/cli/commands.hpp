// The commands behind the words; cli.cpp parses, these do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.hpp"

namespace agent::cli {

// How a command finds its daemon: by the configuration, or by the socket itself.
struct Where {
  std::string config;
  std::string socket;
};

int run_daemon(Surface& surface, const std::string& config_file);
int status(Surface& surface, const Where& where, bool json);
int attempts(Surface& surface, const Where& where, bool json, std::int64_t limit);
int drain(Surface& surface, const Where& where);
int reload(Surface& surface, const Where& where);
int explain(Surface& surface, const Where& where, const std::string& what, bool json);
int forget_attempt(Surface& surface, const Where& where, const std::string& attempt);
int config_check(Surface& surface, const std::string& file, bool here, bool json);
int config_reference(Surface& surface, const std::vector<std::string>& directories,
                     const std::vector<std::string>& plugins);
int plugin_list(Surface& surface, const std::string& config_file, const std::vector<std::string>& directories,
                bool json);
int plugin_release(Surface& surface, const std::string& config_file, const std::string& plugin);
int adopt_installation(Surface& surface, const std::string& config_file);
// Does not return if the conformance suite could be started.
int plugin_check(Surface& surface, const std::vector<std::string>& arguments);
int version(Surface& surface);

// Prints why a command failed; answers `exit_code`.
int failed(Surface& surface, const domain::Error& error, int exit_code);

// Where this program and its helpers are, or nothing after the reason was printed.
std::optional<std::string> program_directory(Surface& surface);

// Prints every problem and how many there are.
void print(Surface& surface, const std::string& file, const std::vector<config::Problem>& problems);

// The configuration, or nothing after its problems were printed.
std::optional<config::Configuration> load(Surface& surface, const std::string& file);

// The result document of one request. On failure the reason was printed and `exit_code` is set.
std::optional<std::string> ask(Surface& surface, const Where& where, const std::string& request,
                               int& exit_code);

// The result document of a response line, or nothing after the reason was printed.
std::optional<std::string> outcome_of(Surface& surface, domain::Result<std::string> response, int& exit_code);

}  // namespace agent::cli
