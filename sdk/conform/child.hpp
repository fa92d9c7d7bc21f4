// One test in a process of its own.
#pragma once

#include <string>

#include "conform/test.hpp"

namespace rmgr::conform {

struct Run {
  Outcome outcome;
  long long milliseconds = 0;
  std::string output;  // what it printed, bounded
};

// Runs every phase of the test in a fresh child of this program and ends what is left afterwards. The calling
// process must have no other children, and becomes the parent of what the test leaves behind.
[[nodiscard]] Run run_in_child(const Plan& plan, const Test& test, const std::string& interface,
                               const std::string& scratch);

// The test in this process, without limits; for debuggers.
[[nodiscard]] Run run_here(const Plan& plan, const Test& test, const std::string& interface,
                           const std::string& scratch);

// What a child does: `words` are those that run_in_child gave it. Answers the exit code.
int child_main(const std::vector<std::string>& words);

// Tells the parent how the test ended; the first word counts. From any thread.
void deliver(const Outcome& outcome);
// Ends the test at once, from any thread, as failed.
[[noreturn]] void fail_now(const std::string& reason);

}  // namespace rmgr::conform
