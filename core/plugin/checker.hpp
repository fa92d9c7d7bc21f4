// A plugin is tried in a child process before the daemon runs any of its code itself.
#pragma once

#include <chrono>
#include <string>

#include "domain/result.hpp"

namespace agent::plugin {

// The step in which nothing of a configuration has reached the plugin yet.
inline constexpr const char* stage_loading = "Loading it";
// Its exit code when the plugin was refused in one sentence; whatever else ends it is the plugin's doing.
inline constexpr int check_refused = 97;

struct ChildCheck {
  std::string program;  // rmgr-plugin-check
  std::string library;  // absolute path
  std::string plugin;   // id in the manifest
  std::string interface;
  std::string instance;
  std::string config_json;  // reaches the child on its standard input
  std::chrono::milliseconds patience{20'000};
};

// Loads the library, makes the instance, probes it if it is an execution provider, destroys it and ends the
// library; all in a child with stand-ins for what a plugin must not touch twice. invalid: the plugin is at
// fault; retry or internal: it could not be tried.
domain::Result<void> check_in_child(const ChildCheck& check);

// Loads the library and says the schemas of its components by interface id, as one JSON object.
domain::Result<std::string> schemas_in_child(const std::string& program, const std::string& library,
                                             const std::string& plugin, std::chrono::milliseconds patience);

}  // namespace agent::plugin
