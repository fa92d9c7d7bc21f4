// What is kept from a job beyond what its account keeps from it.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace native {

// Part of PolicySettings.
struct ContainmentSettings {
  std::optional<bool> private_tmp;  // none: where it can be had
  std::vector<std::string> protected_paths;
  std::int32_t nice = 0;
  std::map<std::string, std::uint64_t> rlimits;
  bool no_new_privileges = false;
  bool operator==(const ContainmentSettings&) const = default;
};

inline constexpr std::string_view containment_properties = R"(
    "private_tmp": {
      "type": "boolean",
      "description": "give each job a /tmp, a /var/tmp and a /dev/shm of its own; without this key wherever that is possible"
    },
    "protected_paths": {
      "type": "array",
      "description": "directories of this machine that jobs see empty and cannot read",
      "items": {"type": "string", "pattern": "^/", "minLength": 2, "maxLength": 4095},
      "maxItems": 64
    },
    "nice": {
      "type": "integer",
      "description": "how far jobs stand back for other programs when the processors are busy",
      "minimum": 0,
      "maximum": 19
    },
    "rlimits": {
      "type": "object",
      "description": "limits of each process of a job; they never raise what the agent itself has",
      "properties": {
        "open_files": {"type": "integer", "description": "descriptors", "minimum": 16},
        "core": {"type": "integer", "description": "bytes of a core file", "minimum": 0},
        "file_size": {"type": "integer", "description": "bytes of one file", "minimum": 1048576},
        "processes": {"type": "integer", "description": "processes and threads of the job's account", "minimum": 1},
        "address_space": {"type": "integer", "description": "bytes", "minimum": 67108864},
        "data": {"type": "integer", "description": "bytes", "minimum": 1048576},
        "stack": {"type": "integer", "description": "bytes", "minimum": 131072},
        "locked_memory": {"type": "integer", "description": "bytes", "minimum": 0},
        "cpu_seconds": {"type": "integer", "description": "processor time of one process", "minimum": 1}
      }
    },
    "no_new_privileges": {
      "type": "boolean",
      "description": "jobs gain nothing from set-user-id programs, so sudo does not work in them"
    })";

// Throws rmgr::Error (invalid) for a path that cannot be protected.
void read(const nlohmann::json& json, ContainmentSettings& settings);

}  // namespace native
