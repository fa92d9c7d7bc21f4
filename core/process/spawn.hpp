// Starts the shim, with nothing of ours in its hands but the gate.
#pragma once

#include <string>

#include "process/fd.hpp"
#include "process/gate.hpp"
#include "process/process.hpp"

namespace agent::process {

struct Shim {
  ProcessIdentity identity;
  Fd pidfd;
  Gate gate;
};

// The shim runs and waits for its orders. Thread-safe.
Result<Shim> start_shim(const std::string& program, const std::string& key, const domain::BootId& boot);

// Kills a shim that was not released, and reaps it.
void discard(const Shim& shim);

// Everything that can be known to be wrong about a spec without running it.
Result<void> check_spec(const Spec& spec);

}  // namespace agent::process
