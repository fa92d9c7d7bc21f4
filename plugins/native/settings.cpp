#include "native/settings.hpp"

#include "native/settings/json.hpp"
#include "rmgr/error.hpp"
#include "support/joined_text.hpp"

namespace native {
namespace {

using Json = nlohmann::json;

constexpr std::string_view comma = ",";
constexpr std::string_view begin = R"({
  "type": "object",
  "properties": {)";
constexpr std::string_view policies_property = R"(
    "policies": {
      "type": "object",
      "description": "by the name of a policy: keys of this provider that it has otherwise",
      "additionalProperties": {
        "type": "object",
        "properties": {)";
constexpr std::string_view end_of_policies = R"(
        }
      }
    })";
constexpr std::string_view end = R"(
  }
})";

void read(const Json& json, PolicySettings& settings) {
  read(json, settings.containment);
  read(json, settings.hooks);
}

Settings read(const Json& json) {
  Settings settings;
  read(json, settings.accounts);
  read(json, settings.environment);
  read(json, settings.common);
  if (const auto policies = json.find("policies"); policies != json.end()) {
    for (const auto& [name, own] : policies->items()) {
      PolicySettings merged = settings.common;
      read(own, merged);
      settings.policies.emplace(name, std::move(merged));
    }
  }
  return settings;
}

}  // namespace

constinit const std::string_view settings_schema =
    plugins::Joined<begin, account_properties, comma, environment_properties, comma, containment_properties,
                    comma, hook_properties, comma, policies_property, containment_properties, comma,
                    hook_properties, end_of_policies, end>::text;

Settings parse_settings(std::string_view json) {
  try {
    return read(json.empty() ? Json::object() : Json::parse(json));
  } catch (const Json::exception&) {
    throw rmgr::Error(rmgr::Status::invalid,
                      "The configuration of the native provider is not of the form that its "
                      "schema describes.");
  }
}

}  // namespace native
