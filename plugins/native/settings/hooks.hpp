// What the operator runs before and after each attempt.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace native {

struct HookCommand {
  std::vector<std::string> command;  // a program by its absolute path, and its arguments
  std::chrono::milliseconds timeout{60'000};
  bool operator==(const HookCommand&) const = default;
};

struct HookSettings {
  std::optional<HookCommand> before, after;
};

inline constexpr std::string_view hook_properties = R"(
    "hooks": {
      "type": "object",
      "description": "programs that the agent runs as itself around each attempt",
      "properties": {
        "before": {
          "type": "object",
          "description": "runs before anything is registered; its failure is that of the launch",
          "properties": {
            "command": {
              "type": "array",
              "description": "a program by its absolute path, and its arguments; none: no such hook",
              "items": {"type": "string", "maxLength": 4096},
              "maxItems": 64
            },
            "timeout_seconds": {
              "type": "integer",
              "description": "it is killed after this time; 60 unless given",
              "minimum": 1,
              "maximum": 90
            }
          },
          "required": ["command"]
        },
        "after": {
          "type": "object",
          "description": "runs once nothing of the job is left, however the attempt ended",
          "properties": {
            "command": {
              "type": "array",
              "description": "a program by its absolute path, and its arguments; none: no such hook",
              "items": {"type": "string", "maxLength": 4096},
              "maxItems": 64
            },
            "timeout_seconds": {
              "type": "integer",
              "description": "it is killed after this time; 60 unless given",
              "minimum": 1,
              "maximum": 300
            }
          },
          "required": ["command"]
        }
      }
    })";

// Throws rmgr::Error (invalid) for a program without an absolute path.
void read(const nlohmann::json& json, HookSettings& settings);

}  // namespace native
