#include "daemon/preflight.hpp"

#include "config/secrets.hpp"
#include "plugin/config_check.hpp"

namespace agent::daemon {
namespace {

using config::Place;

// What is missing stands nowhere, so its nearest surroundings are shown.
Place place_of(const config::Instance& instance, std::string pointer, bool key) {
  const auto& first = key ? instance.key_places : instance.value_places;
  if (const auto found = first.find(pointer); found != first.end()) return found->second;
  while (!pointer.empty()) {
    pointer.erase(pointer.rfind('/'));
    if (const auto found = instance.key_places.find(pointer); found != instance.key_places.end())
      return found->second;
  }
  return instance.value_places.at("");
}

// Not the name of an unknown key inside the value of a telling one: it is a part of the secret as well.
std::string dotted(std::string pointer, bool about_key) {
  const std::size_t last = pointer.rfind('/');
  for (std::size_t at = 0; about_key && !pointer.empty() && at < last;) {
    const std::size_t next = pointer.find('/', at + 1);
    if (config::is_telling(std::string_view(pointer).substr(at + 1, next - at - 1)))
      return dotted(pointer.substr(0, last), false) + ".[redacted]";
    at = next;
  }
  std::string text = "config" + pointer;
  for (char& c : text)
    c = c == '/' ? '.' : c;
  return text;
}

}  // namespace

std::vector<config::Problem> preflight(const config::Loaded& loaded, const std::string& name,
                                       const std::string& checker, BrokenPlugin broken) {
  const config::Configuration& configuration = *loaded.configuration;
  plugin::HostOptions options;
  options.directories = configuration.plugin_directories;
  options.checker = checker;
  plugin::ConfigChecker checks(options);
  std::vector<config::Finding> findings;
  const auto look = [&](const std::vector<config::Instance>& instances, plugin::ComponentKind kind) {
    for (const config::Instance& instance : instances) {
      if (!instance.enabled) continue;
      const auto found = checks.check({.name = instance.name,
                                       .kind = kind,
                                       .plugin = instance.plugin,
                                       .config_json = instance.config_json,
                                       .sha256 = instance.sha256,
                                       .required = instance.required});
      if (!found.plugin.empty()) findings.push_back({instance.plugin_place, found.plugin, false});
      const bool left_to_start = found.plugins_fault && broken == BrokenPlugin::is_left_to_the_start;
      if (!found.unchecked.empty() && !left_to_start)
        findings.push_back({instance.plugin_place, found.unchecked, false});
      for (const plugin::SchemaProblem& problem : found.problems) {
        findings.push_back({place_of(instance, problem.pointer, problem.about_key),
                            dotted(problem.pointer, problem.about_key) + ": " + problem.message,
                            problem.secret});
      }
    }
  };
  look(configuration.gateways, plugin::ComponentKind::gateway);
  look(configuration.package_sources, plugin::ComponentKind::package_source);
  look(configuration.providers, plugin::ComponentKind::execution_provider);
  return config::problems_of(loaded, name, findings);
}

}  // namespace agent::daemon
