// Whether a process that was named once still lives, and signals that can only reach that very process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "process/fd.hpp"
#include "process/process.hpp"
#include "process/stat_line.hpp"

namespace agent::process {

// A handle of the process, or nothing if it provably ended: its number is free, names another process, or
// belongs to another boot. An error when neither can be proven; a missing right is not an end. Reaps it if it
// was our child.
Result<std::optional<Fd>> open_live(const ProcessIdentity& identity, const domain::BootId& boot);

// Whether the process behind a handle ended, waiting at most `timeout`. Reaps it if it was our child.
bool ended(const Fd& pidfd, domain::Millis timeout);

// True if the signal was delivered, false if the process is gone.
Result<bool> signal(const Fd& pidfd, int number);

struct Seen {
  std::int64_t pid = 0;
  StatLine line;
};
// Every process that can be seen now.
Result<std::vector<Seen>> all_processes();

// A handle of the pid without further questions; nothing if it is gone.
Result<std::optional<Fd>> open_pid(std::int64_t pid);
std::optional<StatLine> read_stat(std::int64_t pid);

}  // namespace agent::process
