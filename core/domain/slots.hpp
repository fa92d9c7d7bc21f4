// Which directory of a persistent workspace a new attempt gets.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "domain/attempt.hpp"

namespace agent::domain {

// The slots of the policy's root that attempts hold, also those of a policy that had the root before: each
// until it is cleaned, whether it still runs or not.
std::set<std::int64_t> held_slots(const Policy& policy, const std::vector<const Attempt*>& attempts);

// How many of 1 to the policy's `max` are not held.
std::int64_t count_free_slots(const Policy& policy, const std::set<std::int64_t>& held);

// The lowest of 1 to `ceiling` that is not held; nothing if all are.
std::optional<std::int64_t> free_slot(const std::set<std::int64_t>& held, std::int64_t ceiling);

// "s1" for the first.
std::string slot_directory_name(std::int64_t slot);

// True where an attempt needs a slot: a persistent workspace of one repository with a native provider.
bool uses_slots(const Policy& policy);

// Why nothing in a slot was touched, or not all of it. The word is the enumerator's name.
enum class SlotRefusal {
  slot_path_is_not_the_journalled_slot,
  slot_root_disagrees_with_policy,
  slot_escapes_its_root,
  slot_is_not_a_directory,
  slot_could_not_be_enumerated,
  retained_work_is_not_a_directory,
  slot_entry_could_not_be_removed,
  slot_still_holds_runner_state,
};
std::string_view to_string(SlotRefusal refusal);
// One sentence for the operator. Names nothing that a job chose.
std::string_view remedy(SlotRefusal refusal);

// The first of them that the two facts in the row break, before anything on the disk is looked at: the path
// is the numbered directory below the root, and the policy, while it is still configured, names the same
// root.
std::optional<SlotRefusal> check_slot(const Attempt& attempt, const Policy* configured);

}  // namespace agent::domain
