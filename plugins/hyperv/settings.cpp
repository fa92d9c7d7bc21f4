#include "hyperv/settings.hpp"

#include <nlohmann/json.hpp>

#include "rmgr/error.hpp"
#include "support/joined_text.hpp"

namespace hyperv {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& why) { throw rmgr::Error(rmgr::Status::invalid, why); }

Settings read(const Json& json) {
  Settings settings;
  settings.in_image = json.contains("runner_path");
  settings.runner_path = json.value("runner_path", std::string(R"(C:\runner)"));
  settings.network = json.value("network", std::string("nat"));
  settings.user = json.value("user", std::string());
  settings.environment = json.value("environment", std::vector<std::string>());
  settings.bootstrap = json.value("bootstrap", std::string());
  return settings;
}

bool sound_path(const std::string& path) {
  const std::string closed = path + '\\';
  return path.size() > 3 && !path.ends_with('\\') && path.find("\\\\") == std::string::npos &&
         closed.find("\\.\\") == std::string::npos && closed.find("\\..\\") == std::string::npos;
}

void check(const Settings& settings) {
  using Kind = plugins::engine::Address::Kind;
  if (settings.host && settings.host->kind == Kind::unix_socket)
    refuse("host: engines of Windows listen on npipe:////./pipe/name or tcp://name:port; correct it.");
  if (!sound_path(settings.runner_path))
    refuse(R"(runner_path: it is not a plain absolute path as C:\runner; correct it.)");
  plugins::engine::check_environment(settings.environment);
}

constexpr std::string_view own_properties = R"json({
  "type": "object",
  "properties": {)json";
constexpr std::string_view more_properties = R"json(
    "runner_path": {
      "type": "string",
      "description": "where the image holds the runner package, as C:\\runner; without it the package is copied into each container",
      "pattern": "^[A-Za-z]:.[^/:*?\"<>|]*$",
      "maxLength": 240
    },
    "network": {
      "type": "string",
      "description": "nat; none; or the name of another network of the engine",
      "pattern": "^[A-Za-z0-9][A-Za-z0-9_. -]*$",
      "maxLength": 128,
      "default": "nat"
    },
    "user": {
      "type": "string",
      "description": "the runner's account in the container, as ContainerUser; without it the image's",
      "pattern": "^[A-Za-z][A-Za-z0-9_. -]*$",
      "maxLength": 64
    },
    "bootstrap": {
      "type": "string",
      "description": "path of rmgr-bootstrap.exe, which takes the one-time secret in a container; without it the one beside the plugin",
      "pattern": "^(/|[A-Za-z]:)",
      "maxLength": 4096
    }
  }
})json";

}  // namespace

const std::string_view settings_schema =
    plugins::Joined<own_properties, plugins::engine::engine_properties, plugins::engine::environment_property,
                    more_properties>::text;

Settings parse_settings(std::string_view json) {
  Settings settings;
  try {
    settings = read(json.empty() ? Json::object() : Json::parse(json));
    static_cast<plugins::engine::EngineSettings&>(settings) = plugins::engine::read_engine_settings(json);
  } catch (const Json::exception&) {
    refuse("The configuration of the Hyper-V provider is not of the form that its schema describes.");
  }
  check(settings);
  settings.images.platform = "windows/amd64";
  return settings;
}

}  // namespace hyperv
