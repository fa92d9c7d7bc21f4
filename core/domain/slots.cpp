#include "domain/slots.hpp"

#include <algorithm>
#include <iterator>

#include "domain/state.hpp"

namespace agent::domain {

std::set<std::int64_t> held_slots(const Policy& policy, const std::vector<const Attempt*>& attempts) {
  std::set<std::int64_t> held;
  for (const Attempt* attempt : attempts) {
    const bool keeps = attempt->slot && holds_slot(attempt->policy.workspace, attempt->state);
    if (keeps && attempt->policy.root == policy.root) held.insert(*attempt->slot);
  }
  return held;
}

std::int64_t count_free_slots(const Policy& policy, const std::set<std::int64_t>& held) {
  const auto within = std::distance(held.lower_bound(1), held.upper_bound(policy.max));
  return std::max<std::int64_t>(policy.max - within, 0);
}

std::optional<std::int64_t> free_slot(const std::set<std::int64_t>& held, std::int64_t ceiling) {
  std::int64_t slot = 1;
  for (auto taken = held.lower_bound(slot); taken != held.end() && *taken == slot; ++taken)
    ++slot;
  return slot <= ceiling ? std::optional(slot) : std::nullopt;
}

std::string slot_directory_name(std::int64_t slot) { return "s" + std::to_string(slot); }

bool uses_slots(const Policy& policy) {
  return policy.workspace == WorkspaceKind::persistent && policy.target.kind() == TargetKind::repository &&
         policy.provider_kind == ProviderKind::native;
}

std::string_view to_string(SlotRefusal refusal) {
  switch (refusal) {
    case SlotRefusal::slot_path_is_not_the_journalled_slot: return "slot_path_is_not_the_journalled_slot";
    case SlotRefusal::slot_root_disagrees_with_policy: return "slot_root_disagrees_with_policy";
    case SlotRefusal::slot_escapes_its_root: return "slot_escapes_its_root";
    case SlotRefusal::slot_is_not_a_directory: return "slot_is_not_a_directory";
    case SlotRefusal::slot_could_not_be_enumerated: return "slot_could_not_be_enumerated";
    case SlotRefusal::retained_work_is_not_a_directory: return "retained_work_is_not_a_directory";
    case SlotRefusal::slot_entry_could_not_be_removed: return "slot_entry_could_not_be_removed";
    case SlotRefusal::slot_still_holds_runner_state: return "slot_still_holds_runner_state";
  }
  return "slot_could_not_be_enumerated";
}

std::string_view remedy(SlotRefusal refusal) {
  switch (refusal) {
    case SlotRefusal::slot_path_is_not_the_journalled_slot:
      return "The journal names a path that is no slot of its root; restore the journal from a backup, or "
             "end the attempt by proof.";
    case SlotRefusal::slot_root_disagrees_with_policy:
      return "Give the policy back the root that its attempt was granted with.";
    case SlotRefusal::slot_escapes_its_root:
      return "Replace the link on the way to the slot by a real directory.";
    case SlotRefusal::slot_is_not_a_directory:
      return "Move away what stands in place of the slot's directory.";
    case SlotRefusal::slot_could_not_be_enumerated:
      return "Let the agent's account read the slot, and check the file system below it.";
    case SlotRefusal::retained_work_is_not_a_directory:
      return "Move away what stands in place of the directory `_work` in the slot.";
    case SlotRefusal::slot_entry_could_not_be_removed:
      return "Undo mounts and end processes below the slot, then wait for the next try.";
    case SlotRefusal::slot_still_holds_runner_state:
      return "Look at what is in the slot beside `_work`, end what writes there, and move it away.";
  }
  return {};
}

std::optional<SlotRefusal> check_slot(const Attempt& attempt, const Policy* configured) {
  const bool numbered =
      attempt.slot && attempt.runtime == attempt.policy.root + "/" + slot_directory_name(*attempt.slot);
  if (!numbered) return SlotRefusal::slot_path_is_not_the_journalled_slot;
  if (configured != nullptr && configured->root != attempt.policy.root) {
    return SlotRefusal::slot_root_disagrees_with_policy;
  }
  return std::nullopt;
}

}  // namespace agent::domain
