// Who may start how many: readiness, holds, and the one allocator over all policies of the host.
#include <algorithm>

#include "domain/backoff.hpp"
#include "domain/slots.hpp"
#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::Instant;
using domain::LimitingFactor;
using observe::Field;
using observe::Level;

LimitingFactor Engine::blocked_by(const Target& target, const PolicyState& state) const {
  if (draining_ || state.policy.state == domain::PolicyState::draining) return LimitingFactor::draining;
  if (state.policy.state == domain::PolicyState::paused) return LimitingFactor::paused;
  if (!target.recovered) return LimitingFactor::recovering;
  if (!journal_error().empty()) return LimitingFactor::journal_unreadable;
  if (state.held_until && !domain::reached(*state.held_until, world_.now())) {
    return LimitingFactor::held_after_refusal;
  }
  const bool aged =
      !state.probed_at || domain::elapsed(*state.probed_at, world_.now()) > options_.readiness_age * 5;
  if (aged) return LimitingFactor::provider_not_ready;
  return state.blocked;
}

void Engine::allocate(const TargetKey& key, Target& target, const std::vector<domain::Job>& jobs) {
  std::vector<domain::Policy> policies;
  for (const auto& [name, state] : policies_) {
    if (serves(state.policy, key)) policies.push_back(state.policy);
  }
  std::map<domain::PolicyName, std::int64_t> queued;
  target.refused_jobs.clear();
  std::set<domain::JobId> refused;
  for (const domain::Assignment& assignment : domain::assign(jobs, policies)) {
    if (assignment.policy) {
      ++queued[*assignment.policy];
    } else if (assignment.refusal && *assignment.refusal != domain::JobRefusal::no_policy) {
      ++target.refused_jobs[*assignment.refusal];
      refused.insert(assignment.job);
      if (target.reported_jobs.contains(assignment.job)) continue;
      log_.write(Level::warning, observe::Event::job_refused,
                 {{Field::target, key.target.str()},
                  {Field::job, assignment.job.get()},
                  {Field::reason, std::string(domain::to_string(*assignment.refusal))}});
    }
  }
  target.reported_jobs = std::move(refused);
  std::set<std::string> running;  // names of our runners that GitHub says have a job
  for (const domain::Job& job : jobs) {
    if (!job.queued && !job.runner_name.empty()) running.insert(job.runner_name);
  }
  domain::HostLimits host{.capacity = options_.host_capacity,
                          .active = active(),
                          .target_cap = options_.target_cap,
                          .active_of_target = {}};
  std::map<domain::PolicyName, domain::PolicyDemand> demand_of;
  for (const auto& [id, live] : live_) {
    const Attempt& attempt = live.attempt;
    domain::PolicyDemand& demand = demand_of[attempt.policy.name];
    if (attempt.replacement_wanted) ++demand.replacements;
    if (!domain::is_live(attempt.state)) continue;
    ++host.active_of_target[attempt.policy.target.key()];
    ++demand.active;
    const bool has_job = attempt.state == domain::State::busy || running.contains(domain::runner_name(id));
    if (has_job) ++demand.busy;
  }
  std::vector<domain::PolicyDemand> demands;
  for (const domain::Policy& policy : policies) {
    PolicyState& state = policies_.at(policy.name);
    state.queued = queued[policy.name];
    domain::PolicyDemand demand = demand_of[policy.name];
    demand.policy = policy.name;
    demand.target_key = policy.target.key();
    demand.min = policy.min;
    demand.max = policy.max;
    demand.priority = policy.priority;
    demand.queued = *state.queued;
    demand.blocked = blocked_by(target, state);
    demands.push_back(demand);
  }
  for (const domain::Grant& granted : domain::allocate(host, demands)) {
    PolicyState& state = policies_.at(granted.policy);
    state.limited_by = granted.limited_by;
    log_.write(Level::debug, observe::Event::pass_finished,
               {{Field::policy, granted.policy.str()},
                {Field::queued, *state.queued},
                {Field::active, demand_of[granted.policy].active},
                {Field::started, granted.start},
                {Field::limited_by, std::string(domain::to_string(granted.limited_by))}});
    grant(state, granted.start);
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

void Engine::grant(PolicyState& state, std::int64_t count) {
  const Instant now = world_.now();
  for (std::int64_t index = 0; index < count; ++index) {
    Attempt attempt;
    attempt.id = world_.mint_attempt();
    attempt.generation = world_.mint_generation();
    attempt.policy = state.policy;
    attempt.runtime = state.policy.root + "/" + domain::runtime_directory_name(attempt.id);
    if (domain::uses_slots(state.policy)) {
      attempt.slot = next_slot(state.policy);
      if (!attempt.slot) {
        state.limited_by = LimitingFactor::no_free_slot;
        return;
      }
      attempt.runtime = state.policy.root + "/" + domain::slot_directory_name(*attempt.slot);
    }
    attempt.times.demand_seen = now;
    log_.write(Level::info, observe::Event::attempt_granted,
               {{Field::attempt, attempt.id.str()},
                {Field::policy, state.policy.name.str()},
                {Field::target, state.policy.target.str()}});
    create(std::move(attempt));
  }
}

// What was granted in this turn holds its slot already.
std::optional<std::int64_t> Engine::next_slot(const domain::Policy& policy) const {
  std::vector<const Attempt*> attempts;
  for (const auto& [id, live] : live_)
    attempts.push_back(&live.attempt);
  return domain::free_slot(domain::held_slots(policy.name, attempts), policy.max);
}

void Engine::probe_due() {
  if (draining_) return;
  const Instant now = world_.now();
  for (auto& [name, state] : policies_) {
    const bool due = !state.probed_at || domain::elapsed(*state.probed_at, now) >= options_.readiness_age;
    if (state.probing || !due) continue;
    state.probing = true;
    world_.probe(state.policy);
  }
}

void Engine::take_readiness(const ReadinessAnswer& answer) {
  const auto found = policies_.find(answer.policy);
  if (found == policies_.end()) return;
  PolicyState& state = found->second;
  const bool became_ready = state.blocked != LimitingFactor::none && answer.blocked == LimitingFactor::none;
  state.probing = false;
  state.probed_at = world_.now();
  state.blocked = answer.blocked;
  state.remedy = answer.remedy;
  state.note = answer.note;
  if (became_ready) poll_now(key_of(state.policy));
}

// A refusal that trying again cannot mend holds the policy, longer each time.
void Engine::hold_policy(const Attempt& attempt) {
  const auto found = policies_.find(attempt.policy.name);
  if (found == policies_.end()) return;
  PolicyState& state = found->second;
  state.refusals = std::min<std::int64_t>(state.refusals + 1, 60);
  state.held_until = domain::after(world_.now(), domain::hold_wait(state.refusals));
  const bool reasoned = attempt.outcome && attempt.outcome->reason;
  state.held_reason = std::string(reasoned ? domain::to_string(*attempt.outcome->reason) : "other");
  log_.write(Level::error, observe::Event::policy_held,
             {{Field::policy, state.policy.name.str()},
              {Field::reason, state.held_reason},
              {Field::tries, state.refusals},
              {Field::wait_ms, static_cast<std::int64_t>(domain::hold_wait(state.refusals).count())}});
}

// A launch that came through shows that whatever was refused before is mended.
void Engine::forgive_policy(const domain::PolicyName& name) {
  const auto found = policies_.find(name);
  if (found == policies_.end() || found->second.refusals == 0) return;
  found->second.refusals = 0;
  found->second.held_until.reset();
  log_.write(Level::info, observe::Event::policy_released, {{Field::policy, name.str()}});
}

std::vector<PolicyView> Engine::policies() const {
  std::vector<PolicyView> views;
  for (const auto& [name, state] : policies_) {
    PolicyView view;
    view.policy = state.policy;
    view.queued = state.queued.value_or(0);
    view.limited_by = state.limited_by;
    view.remedy = state.remedy;
    view.note = state.note;
    const auto target = targets_.find(key_of(state.policy));
    if (target != targets_.end()) {
      const LimitingFactor blocked = blocked_by(target->second, state);
      if (blocked != LimitingFactor::none) view.limited_by = blocked;
    }
    if (view.limited_by == LimitingFactor::held_after_refusal) view.remedy = state.held_reason;
    views.push_back(std::move(view));
  }
  for (const auto& [id, live] : live_) {
    if (!domain::is_live(live.attempt.state)) continue;
    const auto known = std::find_if(views.begin(), views.end(), [&live](const PolicyView& view) {
      return view.policy.name == live.attempt.policy.name;
    });
    PolicyView& view = known != views.end() ? *known : views.emplace_back();
    if (known == views.end()) {
      view.policy = live.attempt.policy;
      view.configured = false;
      view.limited_by = LimitingFactor::draining;
    }
    ++view.active;
    if (live.attempt.state == domain::State::busy) ++view.busy;
  }
  return views;
}

}  // namespace agent::reconcile
