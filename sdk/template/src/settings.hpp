// What an operator can choose for this provider, and the schema that says so.
#pragma once

#include <string>
#include <string_view>

namespace processes {

// The host checks a configuration against this before the constructor runs, and fills in the defaults.
inline constexpr std::string_view settings_schema = R"({
  "type": "object",
  "properties": {
    "search_path": {
      "type": "string",
      "description": "PATH of the jobs: absolute directories with colons between them",
      "pattern": "^/[A-Za-z0-9._/:+-]*$",
      "maxLength": 1024,
      "default": "/usr/local/bin:/usr/bin:/bin"
    },
    "nice": {
      "type": "integer",
      "description": "how much jobs step back behind everything else on this machine",
      "minimum": 0,
      "maximum": 19,
      "default": 0
    }
  }
})";

struct Settings {
  std::string search_path = "/usr/local/bin:/usr/bin:/bin";
  int nice = 0;
};

// Reads what the schema admits: one flat object whose texts need no escapes. A plugin with a richer
// configuration brings a JSON library of its own. Throws rmgr::Error (invalid).
Settings parse_settings(std::string_view json);

}  // namespace processes
