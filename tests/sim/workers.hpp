// Histories on several processes: a history is one thread's work, and what one seed does depends on nothing
// else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/history.hpp"

namespace simulation {

struct Work {
  std::uint64_t histories = 1000;
  std::uint64_t first_seed = 1;
  int processes = 1;
  bool until_found = false;  // each process ends with its first violation
};

struct Violation {
  std::uint64_t seed = 0;
  std::string what;
};

struct Totals {
  std::uint64_t histories = 0;
  std::int64_t jobs = 0, crashes = 0, commits = 0, effects = 0;
  std::vector<Violation> violations;  // by seed
  void add(const HistoryResult& result);
};

// A process that ends in any other way than by itself is a violation of the seed that it had.
Totals run_histories(const Work& work);

}  // namespace simulation
