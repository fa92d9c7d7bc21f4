#include "oci/settings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rmgr/error.hpp"
#include "support/joined_text.hpp"

namespace oci {
namespace {

using Json = nlohmann::json;
using plugins::engine::Pull;
using plugins::engine::TlsFiles;

[[noreturn]] void refuse(const std::string& why) { throw rmgr::Error(rmgr::Status::invalid, why); }

template <class T>
T get_or(const Json& json, const char* name, T otherwise) {
  const auto found = json.find(name);
  return found == json.end() ? std::move(otherwise) : found->get<T>();
}

EngineChoice read_engine(const std::string& word) {
  if (word == "podman") return EngineChoice::podman;
  return word == "docker" ? EngineChoice::docker : EngineChoice::automatic;
}

Pull read_pull(const std::string& word) {
  if (word == "always") return Pull::always;
  return word == "never" ? Pull::never : Pull::missing;
}

Settings read(const Json& json) {
  Settings settings;
  settings.engine = read_engine(get_or(json, "engine", std::string("auto")));
  if (const auto host = json.find("host"); host != json.end()) {
    settings.host = plugins::engine::parse_address(host->get<std::string>());
    if (!settings.host) refuse("host: it is not of the form unix:///path or tcp://name:port; correct it.");
  }
  if (const auto tls = json.find("tls"); tls != json.end()) {
    settings.tls = TlsFiles{tls->at("ca").get<std::string>(), get_or(*tls, "certificate", std::string()),
                            get_or(*tls, "key", std::string())};
  }
  settings.images.pull = read_pull(get_or(json, "pull", std::string("missing")));
  for (const Json& one : get_or(json, "registry_auth", Json::array())) {
    settings.images.registry_auth.push_back({one.at("registry").get<std::string>(),
                                             one.at("username").get<std::string>(),
                                             one.at("password").get<std::string>()});
  }
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
  const bool tcp = settings.host && settings.host->kind == Kind::tcp;
  if (settings.host && settings.host->kind == Kind::named_pipe)
    refuse("host: named pipes exist on Windows only; give unix:///path or tcp://name:port.");
  if (settings.tls && !tcp)
    refuse("tls: it is for a host of the form tcp://name:port; remove it or correct host.");
  if (tcp && !settings.tls && !settings.host->loopback()) {
    refuse(
        "host: whoever can change what passes on the way to this engine owns its machine; give tls with the "
        "engine's authority and a client certificate.");
  }
  if (settings.tls && settings.tls->certificate.empty() != settings.tls->key.empty())
    refuse("tls: a certificate and its key belong together; give both or neither.");
  check(settings.common);
  for (const auto& [name, own] : settings.policies)
    check(own);
}

constexpr std::string_view begin = R"({
  "type": "object",
  "properties": {)";
constexpr std::string_view engine_properties = R"(
    "engine": {
      "type": "string",
      "description": "podman, docker, or auto: the first of them that answers, for good",
      "enum": ["auto", "podman", "docker"],
      "default": "auto"
    },
    "host": {
      "type": "string",
      "description": "the engine's API, as unix:///path or tcp://name:port; without it where the engine usually listens",
      "pattern": "^(unix|tcp|npipe)://",
      "maxLength": 512
    },
    "tls": {
      "type": "object",
      "description": "for tcp: PEM files of the engine's authority and of the agent's own certificate",
      "properties": {
        "ca": {"type": "string", "pattern": "^/", "maxLength": 4096},
        "certificate": {"type": "string", "pattern": "^/", "maxLength": 4096},
        "key": {"type": "string", "x-secret": true, "maxLength": 4096}
      },
      "required": ["ca"]
    },
    "pull": {
      "type": "string",
      "description": "when images are pulled: if they are missing, at each look, or never",
      "enum": ["missing", "always", "never"],
      "default": "missing"
    },
    "registry_auth": {
      "type": "array",
      "description": "credentials for registries",
      "items": {
        "type": "object",
        "properties": {
          "registry": {"type": "string", "description": "host[:port]", "minLength": 1, "maxLength": 255},
          "username": {"type": "string", "minLength": 1, "maxLength": 255},
          "password": {"type": "string", "x-secret": true, "maxLength": 4096}
        },
        "required": ["registry", "username", "password"]
      },
      "maxItems": 32
    })";
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
    plugins::Joined<begin, engine_properties, comma, container_properties, comma, policies_property,
                    container_properties, end_of_policies, end>::text;

Settings parse_settings(std::string_view json) {
  Settings settings;
  try {
    settings = read(json.empty() ? Json::object() : Json::parse(json));
  } catch (const Json::exception&) {
    refuse("The configuration of the container provider is not of the form that its schema describes.");
  }
  check(settings);
  return settings;
}

}  // namespace oci
