// What one history will meet, drawn from its seed before it begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reconcile/engine.hpp"
#include "sim/schedule.hpp"

namespace simulation {

struct PlannedJob {
  std::int64_t at_ms = 0;
  std::int64_t duration_ms = 0;
  std::string repository;
  std::vector<std::string> labels;
};

enum class Happening {
  crash_before_commit,
  crash_after_commit,
  crash_anywhere,
  drain_and_restart,
  reboot,
  clock_jump,
  reconfigure,
  operator_stop,
};
struct PlannedEvent {
  std::int64_t at_ms = 0;
  Happening what = Happening::crash_anywhere;
};

// A stretch of time in which something outside is not as it should be.
struct Stretch {
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
};

struct Plan {
  agent::reconcile::EngineOptions options;
  std::vector<agent::domain::Policy> policies;
  std::vector<PlannedJob> jobs;
  std::vector<PlannedEvent> events;
  std::vector<Stretch> outages;            // GitHub answers nobody
  std::vector<Stretch> refusals;           // GitHub says no to each registration
  std::vector<Stretch> rejected_versions;  // listeners of the package on offer end at once
  std::vector<Stretch> closures;           // the provider's probe says no
  std::int64_t faults_end_ms = 0;
  std::int64_t calm_from_ms = 0;  // from here on a job that there is room for must start soon
};

Plan draw_plan(Chance& chance);

// Another configuration of the same policies: other limits, other states, or without some of them.
struct Configuration {
  agent::reconcile::EngineOptions options;
  std::vector<agent::domain::Policy> policies;
};
Configuration vary(const Plan& plan, Chance& chance);

}  // namespace simulation
