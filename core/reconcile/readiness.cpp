// What keeps a policy from starting anything: its provider, its root, a hold after a refusal, and the rest.
#include <algorithm>

#include "domain/backoff.hpp"
#include "domain/slots.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::Instant;
using domain::LimitingFactor;
using observe::Field;
using observe::Level;

std::vector<LimitingFactor> Engine::blocks_of(const Target& target, const PolicyState& state) const {
  std::vector<LimitingFactor> blocks;
  const auto add = [&blocks](bool holds, LimitingFactor factor) {
    if (holds) blocks.push_back(factor);
  };
  add(draining_ || state.policy.state == domain::PolicyState::draining, LimitingFactor::draining);
  add(state.policy.state == domain::PolicyState::paused, LimitingFactor::paused);
  add(!target.recovered, LimitingFactor::recovering);
  const domain::JournalState journal_state = journal().state;
  const bool full = journal_state == domain::JournalState::full;
  add(full, LimitingFactor::disk_full);
  add(!full && journal_state != domain::JournalState::ready, LimitingFactor::journal_unreadable);
  add(state.held_until && !domain::reached(*state.held_until, world_.now()),
      LimitingFactor::held_after_refusal);
  const bool aged =
      !state.probed_at || domain::elapsed(*state.probed_at, world_.now()) > options_.readiness_age * 5;
  add(aged, LimitingFactor::provider_not_ready);
  add(!aged && state.blocked != LimitingFactor::none, state.blocked);
  return blocks;
}

LimitingFactor Engine::blocked_by(const Target& target, const PolicyState& state) const {
  const auto blocks = blocks_of(target, state);
  return blocks.empty() ? LimitingFactor::none : blocks.front();
}

void Engine::probe_due() {
  if (draining_) return;
  const Instant now = world_.now();
  for (auto& [name, state] : policies_) {
    const bool due = !state.probed_at || domain::elapsed(*state.probed_at, now) >= options_.readiness_age;
    if (state.probing || !due) continue;
    state.probing = true;
    if (domain::uses_slots(state.policy)) state.changing_slots = domain::held_slots(state.policy, rows());
    world_.probe(state.policy);
  }
}

void Engine::take_readiness(const ReadinessAnswer& answer) {
  const auto found = policies_.find(answer.policy);
  if (found == policies_.end()) return;
  PolicyState& state = found->second;
  const bool became_ready = state.blocked != LimitingFactor::none && answer.blocked == LimitingFactor::none;
  state.probing = false;
  if (state.outdated) {
    // It answered for what the policy was before; the next turn asks anew.
    state.outdated = false;
    state.probed_at.reset();
    return;
  }
  state.probed_at = world_.now();
  state.blocked = answer.blocked;
  state.remedy = answer.remedy;
  state.note = answer.note;
  state.image = answer.image;
  state.package_inside = answer.package_inside;
  state.root_refusal = answer.root_refusal;
  state.refused_slots = answer.refused_slots;
  // A slot that an attempt had meanwhile was looked at in the middle of things.
  for (const std::int64_t slot : state.changing_slots)
    state.refused_slots.erase(slot);
  state.changing_slots.clear();
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

// What stopped one launch would stop the policy's others, so those that have asked GitHub for nothing yet end
// with it. The jobs stay queued, and the next pass decides anew.
void Engine::withdraw_launches(const Attempt& failed) {
  const auto reason = failed.outcome->reason.value_or(domain::FailureReason::other);
  if (reason == domain::FailureReason::terminated_by_operator ||
      reason == domain::FailureReason::preparation_interrupted)
    return;
  for (const auto& [id, live] : live_) {
    const Attempt& other = live.attempt;
    const bool waits = id != failed.id && other.policy.name == failed.policy.name &&
                       lifecycle::in_bring_up(other) && !other.jit_requested_at &&
                       !lifecycle::waits_for_job(other);
    if (waits)
      inputs_.emplace_back(
          lifecycle::Event{.attempt = id, .seq = 0, .body = lifecycle::event::Withdrawn{reason}});
  }
}

// A launch that came through shows that whatever was refused before is mended.
void Engine::forgive_policy(const domain::PolicyName& name) {
  const auto found = policies_.find(name);
  if (found == policies_.end() || found->second.refusals == 0) return;
  found->second.refusals = 0;
  found->second.held_until.reset();
  log_.write(Level::info, observe::Event::policy_released, {{Field::policy, name.str()}});
}

}  // namespace agent::reconcile
