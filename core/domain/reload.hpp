// May the policies of a running daemon be replaced by others, and what changes if they are.
#pragma once

#include <string>
#include <vector>

#include "domain/attempt.hpp"

namespace agent::domain {

struct PolicyChanges {
  // Each reason why nothing may be changed, with the policy and how many attempts stand against it. What
  // follows is empty then.
  std::vector<std::string> problems;
  std::vector<PolicyName> added, changed, removed;  // by name; a removed one drains
};

// `uncleaned`: the attempts that are not cleaned. Where a policy's attempts are, whom they serve and who runs
// them must not change under them, also for a policy that was removed and comes back.
PolicyChanges plan_reload(const std::vector<Policy>& before, const std::vector<Policy>& after,
                          const std::vector<const Attempt*>& uncleaned);

}  // namespace agent::domain
