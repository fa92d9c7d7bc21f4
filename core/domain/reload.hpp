// May the policies of a running daemon be replaced by others.
#pragma once

#include <string>
#include <vector>

#include "domain/attempt.hpp"

namespace agent::domain {

// Each reason why not, with the policy and how many of its attempts that are not cleaned stand against it.
// Where attempts are, whom they serve and who runs them must not change under them, also for a policy that
// was removed and comes back.
std::vector<std::string> conflicts(const std::vector<Policy>& wanted,
                                   const std::vector<const Attempt*>& attempts);

}  // namespace agent::domain
