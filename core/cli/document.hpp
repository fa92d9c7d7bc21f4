// JSON for the commands: a view of what the daemon answered, and a writer for what they answer themselves.
// The JSON library stays in document.cpp and the two renderers.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "plugin/host.hpp"

namespace agent::cli {

// Each answers false if `json` is not such a document; keys that are missing are shown as "-".
bool print_status(std::string_view json, std::int64_t now_ms, std::ostream& out);
bool print_attempts(std::string_view json, std::int64_t now_ms, std::ostream& out);

std::string problems_json(const std::string& file, const config::Loaded& loaded);
std::string plugins_json(const std::vector<plugin::Discovered>& plugins);

std::int64_t wall_clock_ms();

}  // namespace agent::cli
