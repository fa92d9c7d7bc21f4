// What the child does to itself, as root, before it becomes the job's account. Each step either holds or ends
// the launch: nothing runs with less than was asked for.
#pragma once

#include "process/shim/launch.hpp"

namespace agent::process::shim {

// Says why to the shim and ends the child.
[[noreturn]] void give_up(int report, wire::Stage stage, int error_number, std::size_t index = 0);

// A view of the machine's files in which the hidden directories are empty and cannot be read, and the private
// ones are the job's own. What is mounted and taken away on the machine later still shows in it; what is done
// in it shows nowhere else. Nothing happens if neither is asked for.
void arrange_mounts(const Launch& launch, int report);

// Nice level and limits. No limit is raised: what is asked for above the hard limit becomes the hard limit.
void limit_resources(const Launch& launch, int report);

}  // namespace agent::process::shim
