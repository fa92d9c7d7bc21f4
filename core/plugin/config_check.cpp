#include "plugin/config_check.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugin/checker.hpp"
#include "plugin/manifest.hpp"
#include "plugin/secrets.hpp"
#include "plugin/text.hpp"

namespace agent::plugin {
namespace {

// The ids without their version, as an operator knows them.
std::string offered(const std::vector<std::string>& interfaces) {
  std::string all;
  for (const std::string& id : interfaces) {
    const auto name = id.substr(0, id.find('/'));
    all += (all.empty() ? "" : ", ") + name.substr(name.find('.') + 1);
  }
  return one_line(all, 200);
}

}  // namespace

ConfigChecker::ConfigChecker(const HostOptions& options)
    : options_(options), discovered_(discover_plugins(options.directories, options.trust_any_owner)) {}

ConfigChecker::Findings ConfigChecker::check(const InstanceSpec& spec) {
  Findings findings;
  const auto found = std::find_if(discovered_.begin(), discovered_.end(),
                                  [&](const Discovered& one) { return one.manifest.id == spec.plugin; });
  if (found == discovered_.end() || found->refusal) return findings;
  const std::string interface = interface_of(spec.kind);
  const auto& offers = found->manifest.interfaces;
  if (std::find(offers.begin(), offers.end(), interface) == offers.end()) {
    findings.plugin = "the plugin " + one_line(spec.plugin, 64) + " is no " +
                      std::string(to_string(spec.kind)) + "; it offers " + offered(offers);
    return findings;
  }
  const std::string schema = schema_of(spec, *found, interface);
  if (schema.empty()) return findings;
  auto checked = check_config(schema, spec.config_json);
  if (!checked) return findings;
  findings.problems = std::move(checked->problems);
  for (const SecretUse& use : checked->secrets) {
    const auto read = with_secret(use.reference, [](std::string_view) {});
    if (!read && read.error().code == domain::ErrorCode::not_found)
      findings.problems.push_back({use.pointer, read.error().message, false, false});
  }
  return findings;
}

std::string ConfigChecker::schema_of(const InstanceSpec& spec, const Discovered& found,
                                     const std::string& interface) {
  if (spec.sha256) {
    const auto digest = file_digest(found.path);
    if (!digest || *digest != *spec.sha256) return {};
  }
  if (!schemas_.contains(found.path)) {
    auto said = schemas_in_child(options_.checker, found.path, found.manifest.id, options_.checker_patience);
    schemas_[found.path] = said ? std::move(*said) : std::string();
  }
  const auto parsed = nlohmann::json::parse(schemas_[found.path], nullptr, false);
  return parsed.is_object() && parsed.contains(interface) ? parsed[interface].dump() : std::string();
}

}  // namespace agent::plugin
