// Whether the runner's program starts in the image at all, before GitHub is asked for anything.
#pragma once

#include <functional>

#include "hyperv/settings.hpp"
#include "support/engine/sandboxes.hpp"

namespace hyperv {

// Runs `Runner.Listener --version` in a container of its own, which has the attempt's name, identity and
// limits, and removes it. `fill` copies the package into a container. Throws invalid if the program did not
// end with 0, and what the engine refuses.
void preflight(const rmgr::Call& call, const plugins::engine::Sandboxes& sandboxes, const Settings& settings,
               const rmgr::Allocation& allocation, const std::function<void(const std::string& id)>& fill);

// Removes what a preflight left that was interrupted.
void remove_trial(const rmgr::Call& call, const plugins::engine::Sandboxes& sandboxes,
                  const rmgr::Allocation& allocation);

}  // namespace hyperv
