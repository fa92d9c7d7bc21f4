// Processes of this machine, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rmgr::conform {

[[nodiscard]] std::string boot_id();
// The kernel's start time of a process that lives; nothing for one that is gone or only waits to be reaped.
[[nodiscard]] std::optional<std::uint64_t> start_token(std::int64_t pid);
// Living and ended children of this process.
[[nodiscard]] std::vector<pid_t> children();
// Kills and reaps children of this process until there are none: those of a subreaper include what its
// descendants left.
void end_children();

}  // namespace rmgr::conform
