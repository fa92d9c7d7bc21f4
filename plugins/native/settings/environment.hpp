// What the environment of a job is made of.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace native {

struct EnvironmentSettings {
  std::string runner_env;            // absolute path of an environment file; empty: none
  std::vector<std::string> inherit;  // names, or beginnings that end with '*'
};

inline constexpr std::string_view environment_properties = R"(
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
    })";

// Throws rmgr::Error (invalid) for a name that may not be taken over.
void read(const nlohmann::json& json, EnvironmentSettings& settings);

}  // namespace native
