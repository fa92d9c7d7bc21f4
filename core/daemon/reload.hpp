// What a reload of the configuration may change while the agent runs.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "domain/result.hpp"
#include "reconcile/engine.hpp"

namespace agent::daemon {

// The sections of the file that differ and that only a start reads, as the file names them.
std::vector<std::string> sections_for_a_restart(const config::Configuration& now,
                                                const config::Configuration& next);

// Reads the file and says whether it may replace `now`: every problem in one message. Blocks on the file.
domain::Result<config::Configuration> read_for_reload(const std::string& file,
                                                      const config::Configuration& now);

reconcile::EngineOptions engine_options(const config::Configuration& configuration);

}  // namespace agent::daemon
