#include "support/engine/settings.hpp"

#include <nlohmann/json.hpp>

#include "rmgr/error.hpp"

namespace plugins::engine {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& why) { throw rmgr::Error(rmgr::Status::invalid, why); }

Pull read_pull(const std::string& word) {
  if (word == "always") return Pull::always;
  return word == "never" ? Pull::never : Pull::missing;
}

EngineSettings read(const Json& json) {
  EngineSettings settings;
  if (const auto host = json.find("host"); host != json.end()) {
    settings.host = parse_address(host->get<std::string>());
    if (!settings.host)
      refuse(
          "host: it is not of the form unix:///path, tcp://name:port or npipe:////./pipe/name; correct it.");
  }
  if (const auto tls = json.find("tls"); tls != json.end()) {
    settings.tls = TlsFiles{tls->at("ca").get<std::string>(), tls->value("certificate", std::string()),
                            tls->value("key", std::string())};
  }
  settings.images.pull = read_pull(json.value("pull", std::string("missing")));
  for (const Json& one : json.value("registry_auth", Json::array())) {
    settings.images.registry_auth.push_back({one.at("registry").get<std::string>(),
                                             one.at("username").get<std::string>(),
                                             one.at("password").get<std::string>()});
  }
  return settings;
}

void check(const EngineSettings& settings) {
  const bool tcp = settings.host && settings.host->kind == Address::Kind::tcp;
  if (settings.tls && !tcp)
    refuse("tls: it is for a host of the form tcp://name:port; remove it or correct host.");
  if (tcp && !settings.tls && !settings.host->loopback()) {
    refuse(
        "host: whoever can change what passes on the way to this engine owns its machine; give tls with the "
        "engine's authority and a client certificate.");
  }
  if (settings.tls && settings.tls->certificate.empty() != settings.tls->key.empty())
    refuse("tls: a certificate and its key belong together; give both or neither.");
}

}  // namespace

void check_environment(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (variable.starts_with("ACTIONS_RUNNER_INPUT_"))
      refuse(
          "environment: variables that begin with ACTIONS_RUNNER_INPUT_ are the agent's own; remove them.");
  }
}

EngineSettings read_engine_settings(std::string_view json) {
  EngineSettings settings;
  try {
    settings = read(json.empty() ? Json::object() : Json::parse(json));
  } catch (const Json::exception&) {
    refuse("The configuration of the container provider is not of the form that its schema describes.");
  }
  check(settings);
  return settings;
}

}  // namespace plugins::engine
