#include "sim/plan.hpp"

#include <algorithm>
#include <numeric>

namespace simulation {

namespace domain = agent::domain;

namespace {

constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kFaultsEnd = 40 * kMinute;

domain::Policy draw_policy(Chance& chance, std::int64_t index) {
  static constexpr const char* kTargets[] = {"made/first", "made/second", "made", "other/third"};
  const std::string number = std::to_string(index);
  domain::Policy policy;
  policy.name = domain::PolicyName("policy" + number);
  const std::int64_t target = chance.between(0, 3);
  policy.target = *domain::Target::parse(kTargets[target]);
  const bool repository = target != 2;
  policy.gateway = domain::InstanceName("gateway");
  policy.package_source = domain::InstanceName("packages");
  policy.root = "/runtimes" + number;
  policy.labels = {"self-hosted", "linux", "x64", "only" + number};
  policy.priority = index;  // so that no job has two owners
  policy.max = chance.between(1, 4);
  policy.min = chance.happens(0.07) ? 1 : 0;
  const double kind = chance.unit();
  if (repository && kind < 0.25) {
    policy.provider_kind = domain::ProviderKind::isolated;
    policy.provider = domain::InstanceName("isolated");
    policy.warm = policy.max / 2;
  } else {
    policy.provider = domain::InstanceName("native");
    if (repository && kind > 0.8) policy.workspace = domain::WorkspaceKind::persistent;
  }
  if (chance.happens(0.15)) policy.timeouts.job = domain::Millis{chance.between(2, 6) * kMinute};
  return policy;
}

PlannedJob draw_job(Chance& chance, const std::vector<domain::Policy>& policies, std::int64_t at_ms) {
  const auto& policy =
      policies[static_cast<std::size_t>(chance.between(0, static_cast<std::int64_t>(policies.size()) - 1))];
  PlannedJob job;
  job.at_ms = at_ms;
  job.duration_ms = chance.happens(0.3) ? chance.between(100, 2'000) : chance.between(2'000, 8 * kMinute);
  const bool repository = policy.target.kind() == domain::TargetKind::repository;
  job.repository = repository ? policy.target.str() : chance.happens(0.5) ? "made/first" : "made/fourth";
  job.labels = {"self-hosted", policy.labels.back()};
  if (chance.happens(0.3)) job.labels = {"Self-Hosted", "Linux"};
  return job;
}

void draw_stretches(Chance& chance, std::vector<Stretch>& stretches, double probability,
                    std::int64_t longest) {
  if (!chance.happens(probability)) return;
  const std::int64_t begin = chance.between(0, 25 * kMinute);
  stretches.push_back({.begin_ms = begin, .end_ms = begin + chance.between(kMinute, longest)});
}

void draw_events(Chance& chance, Plan& plan) {
  const auto some = [&](std::int64_t most, Happening what) {
    for (std::int64_t left = chance.between(0, most); left > 0; --left)
      plan.events.push_back({.at_ms = chance.between(0, 30 * kMinute), .what = what});
  };
  for (std::int64_t left = chance.between(0, 4); left > 0; --left) {
    const double where = chance.unit();
    const Happening what = where < 0.35   ? Happening::crash_before_commit
                           : where < 0.7  ? Happening::crash_after_commit
                           : where < 0.85 ? Happening::crash_anywhere
                                          : Happening::drain_and_restart;
    plan.events.push_back({.at_ms = chance.between(0, 30 * kMinute), .what = what});
  }
  if (chance.happens(0.25)) some(1, Happening::reboot);
  some(2, Happening::clock_jump);
  if (chance.happens(0.4)) some(3, Happening::reconfigure);
  if (chance.happens(0.3)) some(2, Happening::operator_stop);
}

}  // namespace

Plan draw_plan(Chance& chance) {
  Plan plan;
  plan.options.host_capacity = chance.between(1, 5);
  if (chance.happens(0.2)) plan.options.target_cap = chance.between(1, 3);
  const double many = chance.unit();
  const std::int64_t policies = many < 0.45 ? 1 : many < 0.75 ? 2 : many < 0.9 ? 3 : 4;
  for (std::int64_t index = 0; index < policies; ++index)
    plan.policies.push_back(draw_policy(chance, index));
  // What minimums keep must leave room for what others wait for.
  const std::int64_t kept = std::accumulate(plan.policies.begin(), plan.policies.end(), std::int64_t{0},
                                            [](auto sum, const auto& policy) { return sum + policy.min; });
  plan.options.host_capacity = std::max(plan.options.host_capacity, kept + 1);
  if (plan.options.target_cap > 0) plan.options.target_cap = std::max(plan.options.target_cap, kept + 1);
  for (std::int64_t left = chance.between(1, 8); left > 0; --left)
    plan.jobs.push_back(draw_job(chance, plan.policies, chance.between(0, 20 * kMinute)));
  draw_events(chance, plan);
  draw_stretches(chance, plan.outages, 0.2, 20 * kMinute);
  draw_stretches(chance, plan.outages, 0.04, 5 * kHour);
  draw_stretches(chance, plan.refusals, 0.08, 10 * kMinute);
  draw_stretches(chance, plan.rejected_versions, 0.08, 10 * kMinute);
  draw_stretches(chance, plan.closures, 0.08, 10 * kMinute);
  plan.faults_end_ms = kFaultsEnd;
  for (const Stretch& outage : plan.outages)
    plan.faults_end_ms = std::max(plan.faults_end_ms, outage.end_ms);
  // What was deferred, held or backed off comes round within this.
  plan.calm_from_ms = plan.faults_end_ms + 45 * kMinute;
  if (chance.happens(0.35)) {
    PlannedJob lasting = draw_job(chance, plan.policies, plan.calm_from_ms);
    lasting.duration_ms = 25 * kMinute;
    PlannedJob next = lasting;
    next.at_ms += 3 * kMinute;
    next.duration_ms = kSecond;
    plan.jobs.push_back(lasting);
    plan.jobs.push_back(next);
  }
  return plan;
}

Configuration vary(const Plan& plan, Chance& chance) {
  Configuration other{.options = plan.options, .policies = {}};
  if (chance.happens(0.5)) other.options.host_capacity = chance.between(1, 5);
  if (chance.happens(0.2)) other.options.target_cap = chance.between(0, 3);
  for (domain::Policy policy : plan.policies) {
    const double what = chance.unit();
    if (what < 0.15) continue;  // removed
    if (what < 0.3) policy.state = domain::PolicyState::paused;
    if (what >= 0.3 && what < 0.4) policy.state = domain::PolicyState::draining;
    if (chance.happens(0.4)) {
      policy.max = chance.between(1, 4);
      policy.min = std::min(policy.min, policy.max);
      policy.warm = std::min(policy.warm, policy.max);
    }
    other.policies.push_back(policy);
  }
  return other;
}

}  // namespace simulation
