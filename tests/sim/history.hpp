// One history: an agent, a made world and its faults from one seed, and what must hold at each moment and in
// the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simulation {

struct HistoryResult {
  std::uint64_t seed = 0;
  std::vector<std::string> violations;
  std::int64_t jobs = 0;
  std::int64_t crashes = 0;
  std::int64_t commits = 0;
  std::int64_t effects = 0;
  std::int64_t virtual_ms = 0;
};

// Deterministic: the same seed gives the same result. `trace` receives one line for each log event.
HistoryResult run_history(std::uint64_t seed, std::vector<std::string>* trace = nullptr);

}  // namespace simulation
