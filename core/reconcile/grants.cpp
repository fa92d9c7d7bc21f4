// Who may start how many: the one allocator over all policies of the host.
#include <algorithm>

#include "domain/slots.hpp"
#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::Instant;
using domain::LimitingFactor;
using observe::Field;
using observe::Level;

namespace {

// A target lists at most so many jobs to explain; all of them count.
constexpr std::size_t kMostExplainedJobs = 10'000;

std::map<std::string, domain::AttemptId> names_of(const std::vector<domain::AttemptId>& attempts) {
  std::map<std::string, domain::AttemptId> names;
  for (const domain::AttemptId& id : attempts)
    names.emplace(domain::runner_name(id), id);
  return names;
}

}  // namespace

// Each job belongs to one policy, also where an organization and one of its repositories are both served.
void Engine::count_jobs(const TargetKey& key, Target& target, const std::vector<domain::Job>& jobs) {
  std::vector<domain::Policy> policies;
  for (const auto& [name, state] : policies_) {
    if (state.policy.gateway == key.gateway) policies.push_back(state.policy);
  }
  std::vector<domain::AttemptId> ours;
  for (const auto& [id, live] : live_)
    ours.push_back(id);
  const auto names = names_of(ours);
  std::map<domain::PolicyName, std::int64_t> queued;
  target.refused_jobs.clear();
  target.jobs.clear();
  const auto note = [&target](const domain::JobId& id, SeenJob seen) {
    if (target.jobs.size() < kMostExplainedJobs) target.jobs.insert_or_assign(id, std::move(seen));
  };
  std::map<domain::JobId, const domain::Job*> unmatched;
  for (const domain::Assignment& assignment : domain::assign(jobs, policies)) {
    if (assignment.policy) ++queued[*assignment.policy];
    const bool nobodys = assignment.refusal == domain::JobRefusal::no_policy;
    if (assignment.refusal && !nobodys) ++target.refused_jobs[*assignment.refusal];
    if (nobodys) unmatched[assignment.job] = nullptr;
    note(assignment.job, {.policy = assignment.policy, .refusal = assignment.refusal});
  }
  for (const domain::Job& job : jobs) {
    if (job.queued) {
      const auto found = unmatched.find(job.id);
      const auto seen = target.jobs.find(job.id);
      if (found == unmatched.end() || seen == target.jobs.end()) continue;
      for (const domain::Policy& policy : policies) {
        if (serves(policy, key)) seen->second.missing[policy.name] = domain::labels_missing(policy, job);
      }
    } else if (const auto runner = names.find(job.runner_name); runner != names.end()) {
      note(job.id, {.attempt = runner->second});
    }
  }
  for (auto& [name, state] : policies_) {
    if (!serves(state.policy, key)) continue;
    state.queued = queued[name];
    state.demand_at = world_.now();
  }
}

// Once for each job, for as long as it is listed. A job for somebody else is none of ours.
void Engine::report_refused(const TargetKey& key, Target& target) {
  std::set<domain::JobId> refused;
  for (const auto& [id, seen] : target.jobs) {
    if (!seen.refusal || *seen.refusal == domain::JobRefusal::no_policy) continue;
    refused.insert(id);
    if (target.reported_jobs.contains(id)) continue;
    log_.write(Level::warning, observe::Event::job_refused,
               {{Field::target, key.target.str()},
                {Field::job, id.get()},
                {Field::reason, std::string(domain::to_string(*seen.refusal))}});
  }
  target.reported_jobs = std::move(refused);
}

// Another target's policy competes with what it asked for last, if that is recent and it may start something
// now: so the order of the passes decides nothing.
bool Engine::competes(const PolicyState& state) const {
  if (!state.queued || !state.demand_at) return false;
  const auto target = targets_.find(key_of(state.policy));
  if (target == targets_.end() || target->second.failures > 0) return false;
  const Instant now = world_.now();
  if (target->second.held_until && !domain::reached(*target->second.held_until, now)) return false;
  const domain::Millis recent = std::max(options_.poll_quiet, options_.poll_active) * 2;
  return domain::elapsed(*state.demand_at, now) <= recent;
}

// What each policy that takes part asks for: those of this target, and those that compete with them.
std::vector<domain::PolicyDemand> Engine::demands(const TargetKey& key) const {
  std::map<domain::PolicyName, domain::PolicyDemand> of;
  for (const auto& [name, state] : policies_) {
    const domain::Policy& policy = state.policy;
    const bool ours = serves(policy, key);
    if (!ours && !competes(state)) continue;
    const LimitingFactor blocked = blocked_by(targets_.at(key_of(policy)), state);
    if (!ours && blocked != LimitingFactor::none) continue;
    domain::PolicyDemand& demand = of[name];
    demand.policy = name;
    demand.target_key = policy.target.key();
    demand.min = policy.min;
    demand.max = policy.max;
    demand.priority = policy.priority;
    demand.queued = state.queued.value_or(0);
    demand.blocked = blocked;
    if (domain::uses_slots(policy))
      demand.free_slots = domain::count_free_slots(policy, unusable_slots(state));
  }
  std::set<domain::AttemptId> has_job;  // GitHub says so, whatever the last look saw
  for (const auto& [id, seen] : targets_.at(key).jobs) {
    if (seen.attempt) has_job.insert(*seen.attempt);
  }
  for (const auto& [id, live] : live_) {
    const Attempt& attempt = live.attempt;
    const auto found = of.find(attempt.policy.name);
    if (found == of.end()) continue;
    if (attempt.replacement_wanted) ++found->second.replacements;
    if (!domain::is_live(attempt.state)) continue;
    ++found->second.active;
    if (attempt.ahead) ++found->second.ahead;
    if (attempt.state == domain::State::busy || has_job.contains(id)) ++found->second.busy;
  }
  std::vector<domain::PolicyDemand> list;
  for (auto& [name, demand] : of) {
    demand.warm = wanted_ahead(policies_.at(name), demand.ahead);
    list.push_back(std::move(demand));
  }
  return list;
}

void Engine::allocate(const TargetKey& key, Target& target, const std::vector<domain::Job>& jobs) {
  count_jobs(key, target, jobs);
  report_refused(key, target);
  domain::HostLimits host{.capacity = options_.host_capacity,
                          .active = active(),
                          .target_cap = options_.target_cap,
                          .active_of_target = {}};
  for (const auto& [id, live] : live_) {
    if (domain::is_live(live.attempt.state)) ++host.active_of_target[live.attempt.policy.target.key()];
  }
  const auto wanted = demands(key);
  const auto granted = domain::allocate(host, wanted);
  for (std::size_t index = 0; index < granted.size(); ++index) {
    PolicyState& state = policies_.at(granted[index].policy);
    if (!serves(state.policy, key)) {
      // Its share is kept for it, and its own pass decides with demand that is read then.
      if (granted[index].start > 0) poll_now(key_of(state.policy));
      continue;
    }
    state.limited_by = granted[index].limited_by;
    log_.write(Level::debug, observe::Event::pass_finished,
               {{Field::policy, granted[index].policy.str()},
                {Field::queued, *state.queued},
                {Field::active, wanted[index].active},
                {Field::started, granted[index].start},
                {Field::limited_by, std::string(domain::to_string(granted[index].limited_by))}});
    claim(granted[index].policy, granted[index].claim);
    grant(state, granted[index].start, false);
    grant(state, granted[index].start_ahead, true);
    shrink_ahead(wanted[index], granted[index].claim);
    const bool capped = granted[index].limited_by == LimitingFactor::target_cap;
    make_room(granted[index].short_of, capped ? &key : nullptr);
  }
  consume_replacements(key);
}

// Each replacement intent was before the allocator once; demand decided. A row that rests keeps its own until
// it can be written.
void Engine::consume_replacements(const TargetKey& key) {
  for (auto& [id, live] : live_) {
    const bool ours = belongs_to(live.attempt, key);
    if (!ours || !live.attempt.replacement_wanted || live.refused) continue;
    before_.try_emplace(id, live);
    live.attempt.replacement_wanted = false;
  }
}

// What attempts hold, and what the last look refused.
std::set<std::int64_t> Engine::unusable_slots(const PolicyState& state) const {
  auto slots = domain::held_slots(state.policy, rows());
  for (const auto& [slot, refusal] : state.refused_slots)
    slots.insert(slot);
  return slots;
}

void Engine::grant(PolicyState& state, std::int64_t count, bool ahead) {
  const Instant now = world_.now();
  for (std::int64_t index = 0; index < count; ++index) {
    Attempt attempt;
    attempt.id = world_.mint_attempt();
    attempt.generation = world_.mint_generation();
    attempt.policy = state.policy;
    // Its own for good: the tag may mean another content tomorrow.
    if (!state.image.empty()) attempt.policy.profile.image = state.image;
    attempt.runtime = state.policy.root + "/" + domain::runtime_directory_name(attempt.id);
    if (domain::uses_slots(state.policy)) {
      // What was granted in this turn holds its slot already.
      attempt.slot = domain::free_slot(unusable_slots(state), state.policy.max);
      if (!attempt.slot) return;
      if (state.probing) state.changing_slots.insert(*attempt.slot);
      attempt.runtime = state.policy.root + "/" + domain::slot_directory_name(*attempt.slot);
    }
    attempt.package_inside = state.package_inside;
    attempt.ahead = ahead;
    if (!ahead) attempt.times.demand_seen = now;
    log_.write(Level::info, observe::Event::attempt_granted,
               {{Field::attempt, attempt.id.str()},
                {Field::policy, state.policy.name.str()},
                {Field::target, state.policy.target.str()}});
    create(std::move(attempt));
  }
}

}  // namespace agent::reconcile
