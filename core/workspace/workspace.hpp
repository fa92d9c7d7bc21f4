// No-follow file work on directories that hostile jobs may have written to. Nothing here trusts what a path
// means between two looks: every step goes through a directory descriptor. All calls block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "domain/attempt.hpp"
#include "domain/decision.hpp"

namespace agent::workspace {

using domain::Result;

// Why a root is not used. The word is the enumerator's name.
enum class RootRefusal {
  non_unicode,
  not_absolute,
  filesystem_root,
  existing_file,
  symlinked,
  missing_parents,
  parent_not_a_directory,
  not_writable,
  parent_not_writable,
  world_writable,
  remote_filesystem,
  unprovable_filesystem,
  overlaps_application_data,
  overlaps_another_root,
  escapes_root,
  not_inspectable,
};
std::string_view to_string(RootRefusal refusal);

struct Preflight {
  bool ready = false;
  std::optional<RootRefusal> refusal;
  std::string remedy;  // one sentence with the path; empty when ready
};

// May runtimes be made below `root`? `ours` are directories that must not overlap with it (state, cache,
// plugins). Creates nothing.
Preflight check_root(const std::string& root, const std::vector<std::string>& ours);
// Makes the root (0711, ours) with an owner mark of this installation, or accepts one with our mark; denied
// for a foreign mark.
Result<void> claim_root(const std::string& root, const domain::InstallationId& installation);

// Makes <root>/<name> (0700), exclusively. exists: the name is taken and nothing was changed.
Result<void> create_runtime(const std::string& root, const std::string& name);

struct Removal {
  std::int64_t entries = 0;  // removed
  bool complete = false;     // nothing is left
};
// Removes <root>/<name> whole: read-only directories are made writable first; FIFOs, sockets and devices are
// unlinked and never opened; links and mount points are never followed. Already gone is complete. Bounded
// memory and descriptors. The message of an error holds counts and kinds, never an entry's name.
Result<Removal> remove_runtime(const std::string& root, const std::string& name);

// What the runner's own diagnostics prove: _diag/Worker_*.log → ran; Runner_*.log alone → no_job; neither →
// unknown.
domain::Evidence read_evidence(const std::string& runtime);

// The four-line typed record of an attempt that survives it, in `directory`: temporary file, fsync, rename.
Result<void> write_record(const std::string& directory, const domain::Attempt& attempt);

}  // namespace agent::workspace
