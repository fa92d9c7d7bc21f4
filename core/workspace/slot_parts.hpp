// What looking at, filling and scrubbing a slot have in common.
#pragma once

#include <functional>
#include <string_view>

#include "workspace/beneath.hpp"
#include "workspace/slot.hpp"

namespace agent::workspace {

SlotFailure refuse(domain::SlotRefusal refusal, const std::string& detail = {});

// The directory in which a layout is made before it is moved up begins with this.
inline constexpr std::string_view kLayoutPrefix = ".layout-";

struct OpenSlot {
  Fd root;       // none when it is missing, and the slot with it
  Fd directory;  // readable; none when the slot is missing
  std::optional<Beneath> beneath;
};
// Follows no link and enters no mount.
SlotOutcome open_slot(const Slot& slot, Resolve resolve, OpenSlot& opened);

// Closes a slot that is there to everybody else.
SlotOutcome close_slot(const OpenSlot& slot);

// Refuses a retained directory that is not a real one of the slot's own mount.
SlotOutcome look_at_retained(const OpenSlot& slot, bool& there);

// Calls `each` for every entry but the retained directory, until it answers false. 0, or why the directory
// cannot be read.
int for_each_entry(int directory, const std::function<bool(const std::string& name)>& each);

// After this nobody has the slot.
Result<void> give_back(int root, const Slot& slot);

}  // namespace agent::workspace
