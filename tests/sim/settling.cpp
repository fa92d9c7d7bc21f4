#include "sim/settling.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/laws.hpp"

namespace simulation {

bool settled(Agent& agent, const std::vector<domain::Policy>& policies, std::int64_t jobs) {
  if (agent.nature.faults.on || agent.engine() == nullptr || !agent.nature.jobs.empty()) return false;
  if (agent.nature.done_jobs != jobs) return false;
  std::map<domain::PolicyName, std::int64_t> kept;
  for (const domain::Attempt* row : agent.ledger.open()) {
    if (!lives(row->state) || row->pending) return false;
    if (row->ahead) continue;  // waits for the next job, for ever
    ++kept[row->policy.name];
  }
  // A policy with a minimum keeps that many runners for ever.
  return std::all_of(policies.begin(), policies.end(),
                     [&kept](const domain::Policy& policy) { return kept[policy.name] <= policy.min; });
}

void check_leftovers(Agent& agent) {
  std::set<domain::AttemptId> live;
  std::set<std::string> names, directories;
  for (const domain::Attempt* row : agent.ledger.open()) {
    live.insert(row->id);
    names.insert(domain::runner_name(row->id));
    directories.insert(row->runtime);
  }
  Nature& nature = agent.nature;
  const auto expect = [&nature](std::int64_t left, const char* what) {
    if (left > 0) nature.violation(std::to_string(left) + " " + what + " left over");
  };
  for (const auto& [name, registration] : nature.registrations) {
    if (!names.contains(name)) nature.violation("the registration " + name + " was left over");
  }
  expect(std::count_if(nature.runners.begin(), nature.runners.end(),
                       [&](const auto& entry) { return !live.contains(entry.first); }),
         "processes or sandboxes");
  expect(std::count_if(nature.directories.begin(), nature.directories.end(),
                       [&](const auto& path) { return !directories.contains(path); }),
         "runtime directories");
  expect(agent.world.stray_secrets(), "one-time secrets");
  agent.ledger.compare_all(*agent.opened());
}

}  // namespace simulation
