#include "plugin/config_check.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugin/checker.hpp"
#include "plugin/manifest.hpp"
#include "plugin/secrets.hpp"
#include "plugin/text.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

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
  const auto unchecked = [&](const Error& why) {
    findings.unchecked = "the configuration cannot be checked, because the library " + found->path +
                         " did not say what it takes: " + why.message;
    findings.plugins_fault = why.code == ErrorCode::invalid || why.code == ErrorCode::denied;
    return findings;
  };
  const auto schema = schema_of(spec, *found, interface);
  if (!schema) return unchecked(schema.error());
  auto checked = check_config(*schema, spec.config_json);
  if (!checked) return unchecked(checked.error());
  findings.problems = std::move(checked->problems);
  for (const SecretUse& use : checked->secrets) {
    const auto read = with_secret(use.reference, [](std::string_view) {});
    if (!read && read.error().code == domain::ErrorCode::not_found)
      findings.problems.push_back({use.pointer, read.error().message, false, false});
  }
  return findings;
}

Result<std::string> ConfigChecker::schema_of(const InstanceSpec& spec, const Discovered& found,
                                             const std::string& interface) {
  const auto said = ask(spec, found);
  if (!said) return said.error();
  const auto parsed = nlohmann::json::parse(*said, nullptr, false);
  if (!parsed.is_object()) return Error{ErrorCode::internal, "Its schemas are not JSON.", {}};
  if (!parsed.contains(interface))
    return Error{ErrorCode::invalid,
                 "It does not offer the interface " + interface + ", which its manifest names.",
                 {}};
  return parsed[interface].dump();
}

Result<std::string> ConfigChecker::ask(const InstanceSpec& spec, const Discovered& found) {
  auto asked = asked_.find(found.path);
  if (asked == asked_.end() || spec.sha256) {
    const auto file = HashedFile::read(found.path);
    if (!file) return file.error();
    // Nothing runs of what is not the pinned build.
    if (spec.sha256 && file->digest() != *spec.sha256)
      return Error{ErrorCode::invalid,
                   "Its SHA-256 is " + file->digest() + " and the configuration pins another.",
                   {}};
    if (asked == asked_.end() || asked->second.digest != file->digest()) {
      auto said =
          schemas_in_child(options_.checker, found.path, found.manifest.id, options_.checker_patience);
      if (!file->unchanged()) said = Error{ErrorCode::retry, "It was replaced meanwhile; try again.", {}};
      asked = asked_.insert_or_assign(found.path, Asked{file->digest(), std::move(said)}).first;
    }
  }
  return asked->second.said;
}

}  // namespace agent::plugin
