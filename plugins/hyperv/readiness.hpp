// Whether a profile could run now, and what to do if not.
#pragma once

#include "hyperv/engine.hpp"
#include "rmgr/execution_provider.hpp"

namespace hyperv {

rmgr::Probe probe_engine(const rmgr::Call& call, Engine& engine, Machine& machine, const Settings& settings,
                         const rmgr::Profile& profile);

}  // namespace hyperv
