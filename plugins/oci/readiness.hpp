// Whether a profile could run now, and what to do if not.
#pragma once

#include "oci/engine.hpp"
#include "oci/settings.hpp"
#include "rmgr/execution_provider.hpp"

namespace oci {

rmgr::Probe probe_engine(const rmgr::Call& call, Engine& engine, const Settings& settings,
                         const rmgr::Profile& profile);

}  // namespace oci
