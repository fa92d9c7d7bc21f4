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

std::int64_t count_free_slots(const Policy& policy, const std::vector<const Attempt*>& attempts) {
  const auto held = held_slots(policy, attempts);
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

}  // namespace agent::domain
