#include "oci/settings.hpp"

#include <nlohmann/json.hpp>

#include "rmgr/error.hpp"
#include "support/joined_text.hpp"

namespace oci {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& why) { throw rmgr::Error(rmgr::Status::invalid, why); }

EngineChoice read_engine(const std::string& word) {
  if (word == "podman") return EngineChoice::podman;
  return word == "docker" ? EngineChoice::docker : EngineChoice::automatic;
}

Settings read(const Json& json) {
  Settings settings;
  settings.engine = read_engine(json.value("engine", std::string("auto")));
  read(json, settings.common);
  if (const auto policies = json.find("policies"); policies != json.end()) {
    for (const auto& [name, own] : policies->items()) {
      ContainerSettings merged = settings.common;
      read(own, merged);
      settings.policies.emplace(name, std::move(merged));
    }
  }
  return settings;
}

void check(const Settings& settings) {
  using Kind = plugins::engine::Address::Kind;
  if (settings.host && settings.host->kind == Kind::named_pipe)
    refuse("host: named pipes exist on Windows only; give unix:///path or tcp://name:port.");
  check(settings.common);
  for (const auto& [name, own] : settings.policies)
    check(own);
}

constexpr std::string_view begin = R"({
  "type": "object",
  "properties": {
    "engine": {
      "type": "string",
      "description": "podman, docker, or auto: the first of them that answers, for good",
      "enum": ["auto", "podman", "docker"],
      "default": "auto"
    },)";
constexpr std::string_view comma = ",";
constexpr std::string_view policies_property = R"(
    "policies": {
      "type": "object",
      "description": "by the name of a policy: keys of its containers that it has otherwise",
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

}  // namespace

constinit const std::string_view settings_schema =
    plugins::Joined<begin, plugins::engine::engine_properties, container_properties, comma, policies_property,
                    container_properties, end_of_policies, end>::text;

Settings parse_settings(std::string_view json) {
  Settings settings;
  try {
    settings = read(json.empty() ? Json::object() : Json::parse(json));
    static_cast<plugins::engine::EngineSettings&>(settings) = plugins::engine::read_engine_settings(json);
  } catch (const Json::exception&) {
    refuse("The configuration of the container provider is not of the form that its schema describes.");
  }
  check(settings);
  return settings;
}

}  // namespace oci
