// The numbered directories of a persistent workspace. Between two attempts a slot holds one real directory
// `_work` or nothing; every other state is refused, and what is refused is not touched.
//
// Who has taken a slot is written beside it, where no job reaches, before the slot is changed. A slot that an
// attempt never took is none of its business, however the attempt ends. All calls block.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "domain/slots.hpp"
#include "workspace/removal.hpp"
#include "workspace/workspace.hpp"

namespace agent::workspace {

// The one entry that survives from one attempt to the next.
inline constexpr const char* kRetained = "_work";

struct Slot {
  std::string root;  // absolute
  std::string name;  // "s1"
};

// What stands in the way. Without a refusal the file system did not do what was asked; that may pass.
struct SlotFailure {
  std::optional<domain::SlotRefusal> refusal;
  domain::Error error;  // for the log: our own words, counts, and no name that a job chose
};
using SlotOutcome = std::optional<SlotFailure>;  // nothing: done

// May another attempt use it? A slot that is missing may be made. Changes nothing.
SlotOutcome look_at_slot(const Slot& slot, Resolve resolve = Resolve::automatic);

// Takes the slot for `holder`: looks at it, writes down whose it is, makes it if it is missing, and closes it
// (0700, ours). What is refused is neither taken nor changed.
SlotOutcome take_slot(const Slot& slot, const domain::AttemptId& holder,
                      Resolve resolve = Resolve::automatic);
Result<bool> has_taken(const Slot& slot, const domain::AttemptId& holder);
// For one whose slot was granted to it but never taken: removes what a broken-off taking left beside it.
Result<void> leave_slot(const Slot& slot);

// Lets `fill` make a layout in an empty directory inside the slot and moves its entries up, each to a name
// that nothing has. So nothing that was kept is written to, replaced or followed. A layout with an entry
// `_work` is invalid. On failure a part may be left, for scrub_slot.
Result<void> fill_slot(const Slot& slot,
                       const std::function<Result<void>(const std::string& directory)>& fill,
                       Resolve resolve = Resolve::automatic);

// Removes all but a real `_work`, proves it by another listing and by looking for what runners leave by name
// through a second way in, and gives the slot back. A slot that is missing is clean. A refusal stops it:
// nothing is removed after one, and the slot stays taken.
SlotOutcome scrub_slot(const Slot& slot, const RemovalOptions& options = {});

}  // namespace agent::workspace
