// What an operator changes while the agent runs.
#include <algorithm>

#include "domain/reload.hpp"
#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Error;
using domain::ErrorCode;

std::vector<const domain::Attempt*> Engine::rows() const {
  std::vector<const domain::Attempt*> rows;
  for (const auto& [id, live] : live_)
    rows.push_back(&live.attempt);
  return rows;
}

domain::Result<void> Engine::reload(EngineOptions options, std::vector<domain::Policy> policies) {
  if (const auto problems = domain::conflicts(policies, rows()); !problems.empty()) {
    std::string all;
    for (const std::string& problem : problems)
      all += (all.empty() ? "" : "; ") + problem;
    return Error{ErrorCode::invalid, all, {}};
  }
  options_ = options;
  std::map<domain::PolicyName, PolicyState> next;
  for (domain::Policy& policy : policies) {
    target_of(policy);
    poll_now(key_of(policy));
    const auto known = policies_.find(policy.name);
    PolicyState& state = next[policy.name];
    if (known == policies_.end()) {
      state.policy = std::move(policy);
      continue;
    }
    state = std::move(known->second);
    if (state.policy == policy) continue;
    // What was refused or found out before concerned another definition.
    state.outdated = state.probing;
    state.probed_at.reset();
    state.refusals = 0;
    state.held_until.reset();
    state.root_refusal.clear();
    state.image.clear();
    state.ahead_retry = {};
    state.refused_slots.clear();
    state.queued.reset();
    state.demand_at.reset();
    state.policy = std::move(policy);
  }
  policies_ = std::move(next);
  forget_unused_targets();
  return {};
}

void Engine::forget_unused_targets() {
  for (auto entry = targets_.begin(); entry != targets_.end();) {
    const auto& key = entry->first;
    const bool used = std::any_of(policies_.begin(), policies_.end(),
                                  [&key](const auto& policy) { return serves(policy.second.policy, key); }) ||
                      std::any_of(live_.begin(), live_.end(),
                                  [&key](const auto& live) { return belongs_to(live.second.attempt, key); });
    entry = used || entry->second.phase != Phase::idle ? std::next(entry) : targets_.erase(entry);
  }
}

domain::Result<void> Engine::forget(const domain::AttemptId& attempt) {
  const auto found = live_.find(attempt);
  if (found == live_.end()) {
    return Error{ErrorCode::not_found,
                 "there is no attempt " + attempt.str() + " that still asks for something; see `attempts`",
                 {}};
  }
  const Live& live = found->second;
  if (lifecycle::in_bring_up(live.attempt)) {
    return Error{
        ErrorCode::busy,
        "attempt " + attempt.str() +
            " is being launched; try again when that has ended, or start the agent again if it never "
            "ends",
        {}};
  }
  if (live.seen == domain::EnvironmentView::starting || live.seen == domain::EnvironmentView::running) {
    return Error{ErrorCode::denied,
                 "attempt " + attempt.str() + " was seen alive at the last look; end its runner first",
                 {}};
  }
  if (live.attempt.environment_removed || live.attempt.state == domain::State::cleaned) {
    return Error{ErrorCode::invalid,
                 "nothing runs of attempt " + attempt.str() +
                     " any more; what is left of it is removed or deregistered as soon as that is possible",
                 {}};
  }
  inputs_.emplace_back(lifecycle::Event{.attempt = attempt, .seq = 0, .body = lifecycle::event::Forgotten{}});
  return {};
}

}  // namespace agent::reconcile
