#include "daemon/reload.hpp"

#include <algorithm>
#include <tuple>

namespace agent::daemon {

using config::Configuration;
using config::Instance;
using domain::Error;
using domain::ErrorCode;

namespace {

bool same(const std::vector<Instance>& left, const std::vector<Instance>& right) {
  const auto facts = [](const Instance& each) {
    return std::tie(each.name, each.plugin, each.config_json, each.sha256, each.required, each.enabled);
  };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [&](const Instance& a, const Instance& b) { return facts(a) == facts(b); });
}

}  // namespace

std::vector<std::string> sections_for_a_restart(const Configuration& now, const Configuration& next) {
  std::vector<std::string> sections;
  const auto compare = [&sections](bool equal, const char* section) {
    if (!equal) sections.emplace_back(section);
  };
  compare(now.state_directory == next.state_directory, "state");
  compare(now.control_socket == next.control_socket, "control");
  compare(now.plugin_directories == next.plugin_directories, "plugins");
  compare(now.package_check_interval == next.package_check_interval && now.package_pins == next.package_pins,
          "packages");
  compare(now.log_level == next.log_level && now.log_file == next.log_file, "log");
  compare(same(now.gateways, next.gateways), "gateways");
  compare(same(now.package_sources, next.package_sources), "package_sources");
  compare(same(now.providers, next.providers), "providers");
  return sections;
}

domain::Result<Configuration> read_for_reload(const std::string& file, const Configuration& now) {
  config::Loaded loaded = config::load_file(file);
  if (!loaded.configuration) {
    std::string message;
    for (const config::Problem& problem : loaded.problems)
      message += (message.empty() ? "" : "\n") + config::to_string(problem);
    return Error{ErrorCode::invalid, message, {}};
  }
  const auto sections = sections_for_a_restart(now, *loaded.configuration);
  if (sections.empty()) return std::move(*loaded.configuration);
  std::string list;
  for (const std::string& section : sections)
    list += (list.empty() ? "" : ", ") + section;
  return Error{ErrorCode::unsupported,
               file + " changes " + list +
                   ", which only a start reads; start the agent again (live runners stay), or undo that",
               {}};
}

reconcile::EngineOptions engine_options(const Configuration& configuration) {
  reconcile::EngineOptions options;
  options.host_capacity = configuration.host_capacity;
  options.target_cap = configuration.target_cap;
  options.poll_quiet = configuration.polling.quiet;
  options.poll_active = configuration.polling.active;
  options.keep_attempts = configuration.keep_attempts;
  options.keep_for = configuration.keep_for;
  return options;
}

}  // namespace agent::daemon
