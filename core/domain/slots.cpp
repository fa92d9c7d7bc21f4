#include "domain/slots.hpp"

#include "domain/state.hpp"

namespace agent::domain {

std::set<std::int64_t> held_slots(const PolicyName& policy, const std::vector<const Attempt*>& attempts) {
  std::set<std::int64_t> held;
  for (const Attempt* attempt : attempts) {
    const bool keeps = attempt->slot && holds_slot(attempt->policy.workspace, attempt->state);
    if (keeps && attempt->policy.name == policy) held.insert(*attempt->slot);
  }
  return held;
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
