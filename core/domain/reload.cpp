#include "domain/reload.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

namespace agent::domain {
namespace {

const Policy* named(const std::vector<Policy>& policies, const PolicyName& name) {
  const auto found = std::find_if(policies.begin(), policies.end(),
                                  [&](const Policy& policy) { return policy.name == name; });
  return found == policies.end() ? nullptr : &*found;
}

// The first thing about `wanted` that attempts of `granted` do not survive; empty if there is none.
std::string in_the_way(const Policy& granted, const Policy& wanted) {
  if (granted.target != wanted.target) return "target";
  if (granted.gateway != wanted.gateway) return "gateway";
  if (granted.provider != wanted.provider || granted.provider_kind != wanted.provider_kind) return "provider";
  if (granted.workspace != wanted.workspace) return "workspace";
  if (granted.root != wanted.root) return "root";
  return {};
}

}  // namespace

PolicyChanges plan_reload(const std::vector<Policy>& before, const std::vector<Policy>& after,
                          const std::vector<const Attempt*>& uncleaned) {
  PolicyChanges changes;
  for (const Policy& wanted : after) {
    std::map<std::string, std::int64_t> against;
    for (const Attempt* attempt : uncleaned) {
      if (attempt->policy.name != wanted.name) continue;
      if (const std::string field = in_the_way(attempt->policy, wanted); !field.empty()) ++against[field];
    }
    for (const auto& [field, count] : against) {
      changes.problems.push_back("policy `" + wanted.name.str() + "`: its " + field +
                                 " cannot change while " + std::to_string(count) +
                                 (count == 1 ? " attempt is" : " attempts are") +
                                 " not cleaned; use another name, or wait until they are");
    }
  }
  if (!changes.problems.empty()) return changes;
  for (const Policy& wanted : after) {
    const Policy* known = named(before, wanted.name);
    if (known == nullptr) {
      changes.added.push_back(wanted.name);
    } else if (*known != wanted) {
      changes.changed.push_back(wanted.name);
    }
  }
  for (const Policy& known : before) {
    if (named(after, known.name) == nullptr) changes.removed.push_back(known.name);
  }
  return changes;
}

}  // namespace agent::domain
