// What an operator may configure for native runners.
#pragma once

#include <cstdint>
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

struct Settings {
  std::vector<std::string> pool;      // named job accounts
  std::optional<UidRange> uid_range;  // or bare numbers
  bool allow_shared_account = false;  // or the daemon's own account
  std::string runner_env;             // absolute path of an environment file; empty: none
  std::vector<std::string> inherit;   // names, or beginnings that end with '*'
};

extern const std::string_view settings_schema;

// Throws rmgr::Error for what the schema cannot say.
Settings parse_settings(std::string_view json);

}  // namespace native
