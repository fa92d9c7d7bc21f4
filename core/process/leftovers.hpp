// Ends what a tree left behind although its shim is gone and no cgroup holds it together.
#pragma once

#include <cstdint>

#include "process/process.hpp"
#include "process/records.hpp"

namespace agent::process {

// Kills what provably stems from the main child: itself, the members of its session and process group that
// run under its account, and their descendants. Waits at most `timeout` until none is left; busy otherwise.
//
// What it cannot find: a process that started a session of its own and whose parents are gone. While the shim
// lived, such a process was its child; with the shim killed nothing ties it to the attempt any more. A cgroup
// root closes this gap, and a provider that gives each attempt its own account can look for the account's
// processes.
Result<void> end_leftovers(const ChildRecord& child, const domain::BootId& boot, domain::Millis timeout);

// Kills the shim's descendants and then the shim itself: for a shim that does not react.
Result<void> end_unresponsive(const ProcessIdentity& shim, const domain::BootId& boot,
                              domain::Millis timeout);

}  // namespace agent::process
