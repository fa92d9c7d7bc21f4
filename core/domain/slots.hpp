// Which directory of a persistent workspace a new attempt gets.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/attempt.hpp"

namespace agent::domain {

// The slots of the policy's root that attempts hold, also those of a policy that had the root before: each
// until it is cleaned, whether it still runs or not.
std::set<std::int64_t> held_slots(const Policy& policy, const std::vector<const Attempt*>& attempts);

// How many of 1 to the policy's `max` are not held.
std::int64_t count_free_slots(const Policy& policy, const std::vector<const Attempt*>& attempts);

// The lowest of 1 to `ceiling` that is not held; nothing if all are.
std::optional<std::int64_t> free_slot(const std::set<std::int64_t>& held, std::int64_t ceiling);

// "s1" for the first.
std::string slot_directory_name(std::int64_t slot);

// True where an attempt needs a slot: a persistent workspace of one repository with a native provider.
bool uses_slots(const Policy& policy);

}  // namespace agent::domain
