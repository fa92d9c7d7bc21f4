// Which accounts jobs may run as.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace native {

// Bare numbers without a passwd entry, an explicit choice.
struct UidRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct AccountSettings {
  std::vector<std::string> pool;      // named job accounts
  std::optional<UidRange> uid_range;  // or bare numbers
  bool allow_shared_account = false;  // or the daemon's own account
};

inline constexpr std::string_view account_properties = R"(
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
    })";

void read(const nlohmann::json& json, AccountSettings& settings);

}  // namespace native
