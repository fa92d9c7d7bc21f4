// What is done to the sandboxes of isolated providers beyond single calls. Everything blocks and runs in a
// lane.
#pragma once

#include "lifecycle/performer.hpp"

namespace agent::lifecycle {

// Ends the attempt's sandbox and proves it gone: Destroyed, or SandboxFound where its id has to be on record
// first, or Failed. Where it is not certain which sandbox is the attempt's, Failed says `quarantined` and
// none was touched.
Performed destroy_sandbox(plugin::Call& call, const plugin::Allocation& allocation,
                          plugin::ExecutionProvider& provider);

// With what the provider says of the job, which is the only evidence of a runner that shares no files with
// the host.
EnvironmentLook look_at_sandbox(plugin::Call& call, const plugin::Allocation& allocation,
                                plugin::ExecutionProvider& provider);

}  // namespace agent::lifecycle
