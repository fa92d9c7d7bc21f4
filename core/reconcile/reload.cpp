// What an operator changes while the agent runs.
#include <algorithm>

#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Error;
using domain::ErrorCode;

// The attempts of a policy are cleaned by what it was, so that must not change under them.
std::string Engine::conflict_of(const domain::Policy& policy) const {
  std::int64_t attempts = 0;
  std::set<std::string> fields;
  for (const auto& [id, live] : live_) {
    const domain::Policy& was = live.attempt.policy;
    if (was.name != policy.name || live.attempt.state == domain::State::cleaned) continue;
    bool differs = false;
    const auto compare = [&](bool same, const char* field) {
      if (same) return;
      differs = true;
      fields.insert(field);
    };
    compare(was.target == policy.target, "target");
    compare(was.gateway == policy.gateway, "gateway");
    compare(was.provider == policy.provider && was.provider_kind == policy.provider_kind, "provider");
    compare(was.workspace == policy.workspace, "workspace");
    compare(was.root == policy.root, "root");
    if (differs) ++attempts;
  }
  if (fields.empty()) return {};
  std::string list;
  for (const std::string& field : fields)
    list += (list.empty() ? "" : ", ") + field;
  return "policy '" + policy.name.str() + "' has " + std::to_string(attempts) +
         (attempts == 1 ? " attempt that is" : " attempts that are") + " not cleaned, so its " + list +
         " cannot change; drain it first, or give the new one another name";
}

domain::Result<void> Engine::reload(EngineOptions options, std::vector<domain::Policy> policies) {
  std::string conflicts;
  for (const domain::Policy& policy : policies) {
    const std::string conflict = conflict_of(policy);
    if (!conflict.empty()) conflicts += (conflicts.empty() ? "" : "; ") + conflict;
  }
  if (!conflicts.empty()) return Error{ErrorCode::invalid, conflicts, {}};
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
  if (live.attempt.pending || lifecycle::in_bring_up(live.attempt)) {
    return Error{ErrorCode::busy,
                 "something is in flight for attempt " + attempt.str() +
                     "; try again when it has ended, or start the agent again if it never ends",
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
  inputs_.emplace_back(
      lifecycle::Event{.attempt = attempt, .seq = 0, .body = lifecycle::event::ProvedGone{}});
  return {};
}

}  // namespace agent::reconcile
