// What must be true of every simulated agent once nothing disturbs it any more.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/agent.hpp"

namespace simulation {

// All `jobs` are done, and nothing is left but the runners that a minimum keeps.
[[nodiscard]] bool settled(Agent& agent, const std::vector<domain::Policy>& policies, std::int64_t jobs);

// Whatever is left belongs to a runner that a minimum keeps, and the journal has all that was written. What
// is not so becomes a violation.
void check_leftovers(Agent& agent);

}  // namespace simulation
