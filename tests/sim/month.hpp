// A month in fast motion: one agent that is hardly ever left alone does 100,000 jobs, and its journal grows
// no larger than what the configuration keeps.
#pragma once

#include <cstdint>
#include <ostream>

#include "sim/history.hpp"

namespace simulation {

struct Month {
  std::uint64_t seed = 1;
  std::int64_t days = 30;
  std::int64_t jobs_per_day = 3'334;
};

// Prints one line for each day to `out`.
HistoryResult run_month(const Month& month, std::ostream& out);

}  // namespace simulation
