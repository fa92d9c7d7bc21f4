#include "oci/settings.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "rmgr/error.hpp"

namespace oci {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t default_pids = 4096;
constexpr std::string_view default_runner_path = "/opt/actions-runner";

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

Settings read(const Json& json) {
  Settings settings;
  settings.engine = read_engine(get_or(json, "engine", std::string("auto")));
  settings.in_image = json.contains("runner_path");
  settings.runner_path = get_or(json, "runner_path", std::string(default_runner_path));
  settings.network = get_or(json, "network", std::string("own"));
  settings.user = get_or(json, "user", std::string());
  settings.add_capabilities = get_or(json, "add_capabilities", std::vector<std::string>());
  settings.tmpfs = get_or(json, "tmpfs", std::vector<std::string>());
  settings.privilege_escalation = get_or(json, "privilege_escalation", false);
  settings.read_only = get_or(json, "read_only", false);
  settings.init = get_or(json, "init", true);
  settings.pids = get_or(json, "pids", default_pids);
  return settings;
}

bool sound_path(const std::string& path) {
  return path.size() > 1 && !path.ends_with('/') && path.find("//") == std::string::npos &&
         (path + "/").find("/./") == std::string::npos && (path + "/").find("/../") == std::string::npos;
}

void check(const Settings& settings) {
  using Kind = plugins::engine::Address::Kind;
  if (settings.host && settings.host->kind == Kind::named_pipe)
    refuse("host: named pipes exist on Windows only; give unix:///path or tcp://name:port.");
  if (settings.network == "host")
    refuse("network: host would show the host's own services to jobs; name another network, own or none.");
  if (!sound_path(settings.runner_path)) refuse("runner_path: it is not a plain absolute path; correct it.");
  for (const std::string& path : settings.tmpfs) {
    if (!sound_path(path)) refuse("tmpfs: an entry is not a plain absolute path; correct it.");
  }
  for (const std::string& name : settings.add_capabilities) {
    if (name == "ALL") refuse("add_capabilities: name the capabilities one by one instead of ALL.");
  }
}

constexpr std::string_view own_properties = R"({
  "type": "object",
  "properties": {
    "engine": {
      "type": "string",
      "description": "podman, docker, or auto: the first of them that answers, for good",
      "enum": ["auto", "podman", "docker"],
      "default": "auto"
    },)";
constexpr std::string_view more_properties = R"(
    "runner_path": {
      "type": "string",
      "description": "where the image holds the runner package; without it the package is copied into each container",
      "pattern": "^/",
      "maxLength": 1024
    },
    "network": {
      "type": "string",
      "description": "own: a network for each container; none; or the name of an existing one",
      "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$",
      "maxLength": 128,
      "default": "own"
    },
    "user": {
      "type": "string",
      "description": "UID or UID:GID of the runner in the container; without it the image's user",
      "pattern": "^[0-9]+(:[0-9]+)?$",
      "maxLength": 21
    },
    "add_capabilities": {
      "type": "array",
      "description": "capabilities beside the few that package managers need",
      "items": {"type": "string", "pattern": "^[A-Z][A-Z_]*$", "maxLength": 64},
      "maxItems": 64
    },
    "tmpfs": {
      "type": "array",
      "description": "paths in the container that are kept in memory",
      "items": {"type": "string", "pattern": "^/[^:,]*$", "maxLength": 1024},
      "maxItems": 16
    },
    "privilege_escalation": {
      "type": "boolean",
      "description": "let set-user-ID programs, as sudo, work in the container",
      "default": false
    },
    "read_only": {
      "type": "boolean",
      "description": "nothing of the image can be changed; the runner's own directory and /tmp still can",
      "default": false
    },
    "init": {
      "type": "boolean",
      "description": "start the engine's init process first, which reaps what jobs leave",
      "default": true
    },
    "pids": {
      "type": "integer",
      "description": "the most processes and threads of a container, for policies that do not say",
      "minimum": 64,
      "maximum": 1000000,
      "default": 4096
    }
  }
})";

}  // namespace

const std::string_view settings_schema =
    plugins::engine::Joined<own_properties, plugins::engine::engine_properties, more_properties>::text;

const std::vector<std::string>& base_capabilities() {
  static const std::vector<std::string> all = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID",
                                               "KILL",  "SETFCAP",      "SETGID", "SETUID"};
  return all;
}

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
