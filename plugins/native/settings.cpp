#include "native/settings.hpp"

#include <nlohmann/json.hpp>

#include "native/environment.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

using Json = nlohmann::json;

template <class T>
T get_or(const Json& json, const char* name, T otherwise) {
  const auto found = json.find(name);
  return found == json.end() ? std::move(otherwise) : found->get<T>();
}

Settings read(const Json& json) {
  Settings settings;
  settings.allow_shared_account = get_or(json, "allow_shared_account", false);
  settings.runner_env = get_or(json, "runner_env", std::string());
  settings.inherit = get_or(json, "inherit", default_inherit());
  if (const auto run_as = json.find("run_as"); run_as != json.end()) {
    settings.pool = get_or(*run_as, "pool", std::vector<std::string>());
    if (const auto range = run_as->find("uid_range"); range != run_as->end()) {
      settings.uid_range =
          UidRange{range->at("first").get<std::uint32_t>(), range->at("count").get<std::uint32_t>()};
    }
  }
  return settings;
}

}  // namespace

const std::string_view settings_schema = R"({
  "type": "object",
  "properties": {
    "run_as": {
      "type": "object",
      "description": "the job accounts: one is used by one attempt at a time, and by nothing else on this machine",
      "properties": {
        "pool": {
          "type": "array",
          "description": "names of existing accounts",
          "items": {"type": "string", "minLength": 1, "maxLength": 64},
          "minItems": 1,
          "maxItems": 256
        },
        "uid_range": {
          "type": "object",
          "description": "numbers without accounts; some tools need a passwd entry and fail with these",
          "properties": {
            "first": {"type": "integer", "minimum": 1000, "maximum": 4294000000},
            "count": {"type": "integer", "minimum": 1, "maximum": 256}
          },
          "required": ["first", "count"]
        }
      }
    },
    "allow_shared_account": {
      "type": "boolean",
      "description": "run jobs as the agent's own account, so that they can read its credentials",
      "default": false
    },
    "runner_env": {
      "type": "string",
      "description": "file of KEY=VALUE lines, read at each launch",
      "pattern": "^/",
      "maxLength": 4096
    },
    "inherit": {
      "type": "array",
      "description": "variables that runners take over from the agent; a trailing * stands for any rest",
      "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*[*]?$", "maxLength": 128},
      "maxItems": 128
    }
  }
})";

Settings parse_settings(std::string_view json) {
  Settings settings;
  try {
    settings = read(json.empty() ? Json::object() : Json::parse(json));
  } catch (const Json::exception&) {
    throw rmgr::Error(rmgr::Status::invalid,
                      "The configuration of the native provider is not of the form that its "
                      "schema describes.");
  }
  for (const std::string& name : settings.inherit) {
    if (!may_inherit(name)) {
      throw rmgr::Error(rmgr::Status::invalid,
                        "inherit: " + name +
                            " would hand the service manager's or the agent's own channels to jobs; "
                            "remove it.");
    }
  }
  return settings;
}

}  // namespace native
