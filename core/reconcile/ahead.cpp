// Attempts that are prepared ahead of jobs: which are claimed, which are in the way, which are out of date.
#include <algorithm>

#include "domain/backoff.hpp"
#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::AttemptId;
using observe::Field;
using observe::Level;

// What would be granted now is not what was prepared, or nobody would claim it any more.
bool Engine::outdated(const Attempt& attempt) const {
  const auto found = policies_.find(attempt.policy.name);
  if (draining_ || found == policies_.end()) return true;
  const PolicyState& state = found->second;
  if (state.policy.state != domain::PolicyState::active) return true;
  domain::Policy now = state.policy;
  // An image that is being looked for is no other image.
  now.profile.image = state.image.empty() ? attempt.policy.profile.image : state.image;
  now.min = attempt.policy.min;
  now.max = attempt.policy.max;
  now.warm = attempt.policy.warm;
  now.priority = attempt.policy.priority;
  return now != attempt.policy;
}

void Engine::end_outdated() {
  for (const AttemptId& id : ahead_of(nullptr)) {
    if (outdated(live_.at(id).attempt)) end_ahead(id);
  }
}

void Engine::end_ahead(const AttemptId& id) {
  stage({.attempt = id,
         .seq = 0,
         .body = lifecycle::event::Withdrawn{domain::FailureReason::preparation_interrupted}});
}

// Those that wait already first, each by the time of its grant; all policies' without one.
std::vector<AttemptId> Engine::ahead_of(const domain::PolicyName* policy) const {
  std::vector<const Attempt*> found;
  for (const auto& [id, live] : live_) {
    const Attempt& attempt = live.attempt;
    const bool theirs = policy == nullptr || attempt.policy.name == *policy;
    if (theirs && attempt.ahead && domain::is_live(attempt.state) && !live.refused) found.push_back(&attempt);
  }
  std::sort(found.begin(), found.end(), [](const Attempt* left, const Attempt* right) {
    const auto rank = [](const Attempt* one) {
      return std::tuple(!lifecycle::waits_for_job(*one), one->times.granted.wall_ms, one->id);
    };
    return rank(left) < rank(right);
  });
  std::vector<AttemptId> ids;
  for (const Attempt* attempt : found)
    ids.push_back(attempt->id);
  return ids;
}

void Engine::claim(const domain::PolicyName& policy, std::int64_t count) {
  if (count <= 0) return;
  for (const AttemptId& id : ahead_of(&policy)) {
    if (count-- <= 0) return;
    log_.write(Level::info, observe::Event::attempt_claimed,
               {{Field::attempt, id.str()}, {Field::policy, policy.str()}});
    stage({.attempt = id, .seq = 0, .body = lifecycle::event::Claimed{}});
  }
}

// The newest go first: the oldest are the likeliest to be ready.
void Engine::shrink_ahead(const domain::PolicyDemand& demand, std::int64_t claimed) {
  std::int64_t surplus = demand.ahead - claimed - domain::most_ahead(demand);
  if (surplus <= 0) return;
  auto ids = ahead_of(&demand.policy);
  for (auto id = ids.rbegin(); id != ids.rend() && surplus > 0; ++id, --surplus)
    end_ahead(*id);
}

// A job comes before everything that waits for one, whosever it is; of that target alone if its cap is in the
// way.
void Engine::make_room(std::int64_t count, const TargetKey* target) {
  if (count <= 0) return;
  auto ids = ahead_of(nullptr);
  for (auto id = ids.rbegin(); id != ids.rend() && count > 0; ++id) {
    const Attempt& attempt = live_.at(*id).attempt;
    if (target != nullptr && attempt.policy.target != target->target) continue;
    pause_ahead(attempt);
    end_ahead(*id);
    --count;
  }
}

void Engine::pause_ahead(const Attempt& attempt) {
  const auto found = policies_.find(attempt.policy.name);
  if (found == policies_.end()) return;
  domain::Retry& retry = found->second.ahead_retry;
  retry = domain::next_retry(retry, domain::cleanup_wait(retry.tries + 1), world_.now());
}

// What failed or was lost is not made again at once: nobody waits for it, and the engine has other work.
void Engine::note_ahead(const Attempt& before, const Attempt& now) {
  const auto found = policies_.find(now.policy.name);
  if (found == policies_.end() || !before.ahead) return;
  if (lifecycle::waits_for_job(now) && !lifecycle::waits_for_job(before)) found->second.ahead_retry = {};
  const bool failed = now.outcome && !before.outcome && now.outcome->kind == domain::OutcomeKind::failed;
  const bool ended_here =
      now.outcome && now.outcome->reason == domain::FailureReason::preparation_interrupted;
  if (failed && !ended_here) pause_ahead(now);
}

// While it pauses, what is there may stay and nothing is added.
std::int64_t Engine::wanted_ahead(const PolicyState& state, std::int64_t now_ahead) const {
  const domain::Retry& retry = state.ahead_retry;
  const bool pauses = retry.tries > 0 && !domain::reached(retry.due, world_.now());
  return pauses ? std::min(state.policy.warm, now_ahead) : state.policy.warm;
}

}  // namespace agent::reconcile
