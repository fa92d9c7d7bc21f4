// What a failed look at an engine means for its readiness.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rmgr/execution_provider.hpp"
#include "support/engine/access.hpp"
#include "support/engine/resolution.hpp"

namespace plugins::engine {

rmgr::Probe not_ready(rmgr::Readiness readiness, std::string remedy);

// The answer of `look`, or what its failure says. A cancelled one stays an error.
rmgr::Probe probe_of(const std::function<rmgr::Probe()>& look);

// Not ready where the profile's image is no name, or is not in the engine and must not be pulled.
std::optional<rmgr::Probe> misnamed_image(std::string_view image);
std::optional<rmgr::Probe> absent_image(const rmgr::Call& call, Client& client, const ImageSettings& settings,
                                        const std::string& image);

}  // namespace plugins::engine
