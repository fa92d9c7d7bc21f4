// What a state directory says of an agent that does not answer. Reads only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/status.hpp"

namespace agent::cli {

// Walks every page of the journal.
daemon::OfflineInput look_without_agent(const std::string& state);

// The newest first; ended ones included.
domain::Result<std::vector<domain::Attempt>> recent_without_agent(const std::string& state,
                                                                  std::int64_t limit);

}  // namespace agent::cli
