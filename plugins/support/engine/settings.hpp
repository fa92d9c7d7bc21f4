// What an operator may configure for every provider that speaks to an engine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/engine/access.hpp"
#include "support/engine/resolution.hpp"

namespace plugins::engine {

struct EngineSettings {
  std::optional<Address> host;  // none: where the engine usually listens
  std::optional<TlsFiles> tls;
  ImageSettings images;
};

// Reads its own keys of an object and leaves the others alone. Throws rmgr::Error (invalid) for what is not
// of the schema's form and for what the schema cannot say.
EngineSettings read_engine_settings(std::string_view json);

// KEY=VALUE for the runner and its jobs; throws rmgr::Error for a name that is the agent's own.
void check_environment(const std::vector<std::string>& environment);

// The properties of a schema that belong to these settings.
inline constexpr std::string_view engine_properties = R"json(
    "host": {
      "type": "string",
      "description": "the engine's API, as unix:///path, tcp://name:port or npipe:////./pipe/name; without it where the engine usually listens",
      "pattern": "^(unix|tcp|npipe)://",
      "maxLength": 512
    },
    "tls": {
      "type": "object",
      "description": "for tcp: PEM files of the engine's authority and of the agent's own certificate",
      "properties": {
        "ca": {"type": "string", "pattern": "^(/|[A-Za-z]:)", "maxLength": 4096},
        "certificate": {"type": "string", "pattern": "^(/|[A-Za-z]:)", "maxLength": 4096},
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
    },)json";
inline constexpr std::string_view environment_property = R"json(
    "environment": {
      "type": "array",
      "description": "KEY=VALUE for the runner and its jobs; nothing secret",
      "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*=", "maxLength": 4096},
      "maxItems": 128
    },)json";

}  // namespace plugins::engine
