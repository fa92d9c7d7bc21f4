// What a runner's Windows container is made of.
#pragma once

#include <string>
#include <string_view>

#include "hyperv/settings.hpp"
#include "rmgr/execution_provider.hpp"
#include "support/engine/model.hpp"
#include "support/engine/tar.hpp"

namespace hyperv {

inline constexpr std::string_view no_process_limit =
    "Windows containers have no limit of processes; remove profile.pids.";

// Of the runner itself. `network`, limits and labels are the same for every container of an attempt.
plugins::engine::ContainerSpec runner_of(const Settings& settings, const rmgr::Allocation& allocation);
// Of the trial before it: says by its exit code whether the runner's program starts in that image.
plugins::engine::ContainerSpec trial_of(const Settings& settings, const rmgr::Allocation& allocation);
bool is_trial(const plugins::engine::Labels& labels);

// Path of rmgr-bootstrap.exe here; throws invalid if it is not there.
std::string bootstrap_of(const Settings& settings);

// What is copied to the root of the container's disk.
plugins::engine::TarOptions contents_of(const Settings& settings);

}  // namespace hyperv
