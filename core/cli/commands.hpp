// One function a command, each in its own file; the parser calls them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.hpp"

namespace agent::cli {

int run_daemon(const std::string& configuration, Context& context);

struct StatusOptions {
  Place place;
  bool json = false;
};
int status(const StatusOptions& options, Context& context);

struct AttemptsOptions {
  Place place;
  bool json = false;
  std::int64_t limit = 50;
};
int attempts(const AttemptsOptions& options, Context& context);

struct ConfigCheckOptions {
  std::string file;
  bool json = false;
};
int config_check(const ConfigCheckOptions& options, Context& context);

struct PluginListOptions {
  std::string configuration;  // empty: the default one, unless directories are given
  std::vector<std::string> directories;
  bool json = false;
};
int plugin_list(const PluginListOptions& options, Context& context);

int version(Context& context);

}  // namespace agent::cli
