// Turns the shim's fork into the program it was asked to run.
#pragma once

#include <sys/types.h>

#include "process/protocol.hpp"
#include "process/shim/launch.hpp"

namespace agent::process::shim {

// The forked child and the two pipes that hold it and hear from it.
struct Child {
  pid_t pid = -1;
  int go = -1;      // write one byte: the child may execute; close it: the child ends
  int report = -1;  // end of file: it executed (or was killed); a wire::Failure: it did not
};

// Forks the child, held at `go`. `launch.environment` is complete, secret included. `job` is the directory of
// the job's cgroup, -1 for none; `limited` are those of launch.limited.
bool fork_child(const Launch& launch, int job, const int* limited, Child& child, wire::Failure& failure);

}  // namespace agent::process::shim
