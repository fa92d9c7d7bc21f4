// No-follow file work on directories that hostile jobs may have written to. Nothing here trusts what a path
// means between two looks: every step goes through a directory descriptor. All calls block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  owned_by_another_installation,
  holds_other_files,
};
std::string_view to_string(RootRefusal refusal);

struct Preflight {
  bool ready = false;
  std::optional<RootRefusal> refusal;
  std::string remedy;  // one sentence with the path; empty when ready
};

// May runtimes be made below `root`? The root may be missing when its parent is there. `ours` are directories
// that must not overlap with it (state, cache, plugins), in either direction and under whatever name;
// `others` are the roots of other policies, one of which must not lie in the other. Creates nothing. A dead
// volume can block it for as long as the kernel waits, so callers give it a thread of its own.
struct OtherRoot {
  std::string root;
  bool may_be_the_same = true;  // under whatever name
};
Preflight check_root(const std::string& root, const std::vector<std::string>& ours,
                     const std::vector<OtherRoot>& others = {});
// Makes the root (0711, ours: job accounts pass through it and cannot list it) with an owner mark of this
// installation, or accepts one with our mark. An existing directory without a mark is taken only if it is
// empty (lost+found aside); denied for a foreign mark, a foreign owner, or a directory that holds something.
Result<void> claim_root(const std::string& root, const domain::InstallationId& installation);

// Both, one after the other, in the words of a preflight.
Preflight prepare_root(const std::string& root, const std::vector<std::string>& ours,
                       const std::vector<OtherRoot>& others, const domain::InstallationId& installation);

// Makes <root>/<name> (0700), exclusively. exists: the name is taken and nothing was changed.
Result<void> create_runtime(const std::string& root, const std::string& name);

struct Removal {
  std::int64_t entries = 0;  // removed
  bool complete = false;     // nothing is left
};
// Removes <root>/<name> whole: read-only directories are made writable first; FIFOs, sockets and devices are
// unlinked and never opened; links and mount points are never followed. Already gone is complete. Bounded
// memory, descriptors, passes and time. The message of an error holds counts and kinds, never an entry's
// name. Not complete without an error: somebody keeps writing there. Errors: busy = a mount is in the way;
// denied = this account may not; everything removable is removed in each case, so it can be called again.
// cancelled = `cancelled`, asked now and then, said so.
Result<Removal> remove_runtime(const std::string& root, const std::string& name,
                               std::function<bool()> cancelled = {});

// What the runner's own diagnostics prove: _diag/Worker_*.log → ran; Runner_*.log alone → no_job; neither,
// and whatever a job can make of the directory → unknown. An error says that the file system did not answer,
// so that nothing is known at all: retry.
Result<domain::Evidence> read_evidence(const std::string& runtime);

// The four-line typed record of a concluded attempt (attempt, policy, outcome, reason) that survives it, as
// `directory`/<attempt id>.record (0600): temporary file, fsync, rename. The directory is made (0700) if it
// is missing. Writing it again replaces it. invalid for an attempt without an outcome.
Result<void> write_record(const std::string& directory, const domain::Attempt& attempt);

}  // namespace agent::workspace
