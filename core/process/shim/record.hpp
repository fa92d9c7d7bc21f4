// The files by which a daemon that is not our parent learns what became of the child.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace agent::process::shim {

struct Ending {
  int status = 0;  // as waitpid gives it
  bool out_of_memory = false;
  std::int64_t ran_ms = 0;
};

// Takes the space of the exit record and names the child. 0, or the errno: then nothing may run.
int record_child(int directory, int proc, pid_t child, std::int64_t uid);
// Takes back record_child when the execution failed.
void forget_child(int directory);
int record_exit(int directory, const Ending& ending);

}  // namespace agent::process::shim
