// The operator's environment file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace native {

using Variables = std::vector<std::pair<std::string, std::string>>;

// KEY=VALUE lines; blank lines and lines that begin with '#' are skipped, values are taken as they stand.
// Throws rmgr::Error (invalid) that names `name` and the line, never a value.
Variables parse_runner_env(std::string_view text, const std::string& name);

// Reads and parses the file. Refuses one that others can write.
Variables read_runner_env(const std::string& path);

}  // namespace native
