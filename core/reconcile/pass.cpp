// One target's pass: look at the environments, list the runners, decide, ask for demand, allocate. The look
// comes before the listing, and a listing counts for an attempt only if nothing changed about it since the
// listing was asked for.
#include <algorithm>

#include "domain/backoff.hpp"
#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::ErrorCode;
using domain::Instant;
using domain::LimitingFactor;
using domain::Millis;
using observe::Field;
using observe::Level;

namespace {

LimitingFactor trouble_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::unauthorized:
    case ErrorCode::denied: return LimitingFactor::credential_rejected;
    case ErrorCode::retry: return LimitingFactor::rate_limited;
    default: return LimitingFactor::gateway_unreachable;
  }
}

// Below a fifth of the quota the pace halves, below a twentieth it is a quarter.
std::int64_t quota_factor(std::int64_t left_percent) {
  if (left_percent < 0 || left_percent >= 20) return 1;
  return left_percent >= 5 ? 2 : 4;
}

domain::Observation merge(const Look& look) {
  domain::Observation seen;
  seen.environment = look.environment;
  seen.clean = look.clean;
  seen.exit_code = look.exit_code;
  seen.out_of_memory = look.out_of_memory;
  seen.evidence = look.evidence;
  return seen;
}

void add_listing(domain::Observation& seen, const Attempt& attempt,
                 const std::vector<ListedRunner>& runners) {
  const std::string name = domain::runner_name(attempt.id);
  seen.github = domain::GithubView::absent;
  for (const ListedRunner& runner : runners) {
    if (runner.name != name) continue;
    seen.listed_runner = runner.id;
    seen.github = !runner.online ? domain::GithubView::offline
                  : runner.busy  ? domain::GithubView::busy
                                 : domain::GithubView::idle;
    return;
  }
}

}  // namespace

Engine::Target& Engine::target_of(const domain::Policy& policy) {
  auto [entry, added] = targets_.try_emplace(key_of(policy));
  if (added) entry->second.recovered = true;  // nothing of it is known to be live
  return entry->second;
}

void Engine::begin_due_passes() {
  const Instant now = world_.now();
  for (auto& [key, target] : targets_) {
    if (target.phase != Phase::idle) continue;
    const bool due = !draining_ && (!target.next_poll || domain::reached(*target.next_poll, now));
    if (due || target.again) begin_pass(key, target);
  }
}

void Engine::begin_pass(const TargetKey& key, Target& target) {
  target.again = false;
  target.pass = next_pass_++;
  target.phase = Phase::looking;
  target.awaited.clear();
  target.looks.clear();
  for (const auto& [id, live] : live_) {
    const Attempt& attempt = live.attempt;
    const bool launching = lifecycle::in_bring_up(attempt) && !lifecycle::waits_for_job(attempt);
    if (!belongs_to(attempt, key) || !domain::is_live(attempt.state) || launching) continue;
    target.awaited.insert(id);
    world_.look(std::make_shared<const Attempt>(attempt), target.pass);
  }
  if (target.awaited.empty()) finish_looking(key, target);
}

void Engine::take_look(const Look& look) {
  for (auto& [key, target] : targets_) {
    if (target.pass != look.pass || target.phase != Phase::looking) continue;
    if (target.awaited.erase(look.attempt) == 0) return;
    target.looks[look.attempt] = look;
    if (target.awaited.empty()) finish_looking(key, target);
    return;
  }
}

void Engine::finish_looking(const TargetKey& key, Target& target) {
  const bool silent = target.held_until && !domain::reached(*target.held_until, world_.now());
  if (silent) {
    observe_all(key, target, nullptr);
    end_pass(key, target, std::nullopt, -1);
    return;
  }
  // What waits for a job has no registration that could be listed.
  const bool registered = std::any_of(target.looks.begin(), target.looks.end(), [this](const auto& entry) {
    const auto found = live_.find(entry.first);
    return found != live_.end() && !lifecycle::waits_for_job(found->second.attempt);
  });
  if (!registered) {
    observe_all(key, target, nullptr);
    ask_demand(key, target);
    return;
  }
  target.phase = Phase::listing;
  target.listing_tick = tick_;
  target.listing_began = world_.now();
  world_.list_inventory(key, target.pass);
}

void Engine::take_inventory(const Inventory& inventory) {
  const auto found = targets_.find(inventory.target);
  if (found == targets_.end()) return;
  Target& target = found->second;
  if (target.phase != Phase::listing || target.pass != inventory.pass) return;
  observe_all(found->first, target, inventory.failure ? nullptr : &inventory);
  if (inventory.failure) {
    end_pass(found->first, target, inventory.failure, -1);
    return;
  }
  target.last_contact = world_.now();
  ask_demand(found->first, target);
}

// Every attempt that was looked at is decided. Launches stay closed while something that was live at the
// start could not be reconciled.
void Engine::observe_all(const TargetKey& key, Target& target, const Inventory* inventory) {
  std::map<domain::PolicyName, std::int64_t> live_of_policy;
  for (const auto& [id, live] : live_) {
    if (belongs_to(live.attempt, key) && domain::is_live(live.attempt.state) && !live.attempt.ahead)
      ++live_of_policy[live.attempt.policy.name];
  }
  for (const auto& [id, look] : target.looks) {
    const auto found = live_.find(id);
    if (found == live_.end()) continue;
    Live& live = found->second;
    live.seen = look.environment;
    if (live.refused) continue;
    domain::Observation seen = merge(look);
    seen.bring_up_here = lifecycle::in_bring_up(live.attempt);
    std::int64_t& of_policy = live_of_policy[live.attempt.policy.name];
    const auto policy = policies_.find(live.attempt.policy.name);
    seen.surplus_allowed = policy == policies_.end() || of_policy > policy->second.policy.min;
    const bool fresh = inventory != nullptr && live.changed_tick <= target.listing_tick;
    if (fresh) add_listing(seen, live.attempt, inventory->runners);
    const bool certain = fresh && look.environment != domain::EnvironmentView::unknown;
    const bool had_termination = live.attempt.termination.has_value();
    const bool waited = lifecycle::waits_for_job(live.attempt);
    stage({.attempt = id, .seq = 0, .body = lifecycle::event::Observed{seen, target.listing_began}});
    if (certain) live.resumed = false;
    if (waited && !domain::is_live(live.attempt.state)) pause_ahead(live.attempt);
    const bool going = live.attempt.termination && !had_termination;
    if (going || !domain::is_live(live.attempt.state)) --of_policy;
  }
  target.looks.clear();
  const auto waiting = std::any_of(live_.begin(), live_.end(), [&key](const auto& entry) {
    return entry.second.resumed && belongs_to(entry.second.attempt, key);
  });
  target.recovered = !waiting;
}

void Engine::ask_demand(const TargetKey& key, Target& target) {
  const auto asks = [&key](const auto& entry) { return serves(entry.second.policy, key); };
  const bool unserved = std::none_of(policies_.begin(), policies_.end(), asks);
  if (unserved) consume_replacements(key);  // there is no policy left that could grant one
  if (draining_ || unserved) {
    end_pass(key, target, std::nullopt, -1);
    return;
  }
  target.phase = Phase::asking;
  world_.ask_demand(key, target.pass);
}

void Engine::take_demand(const DemandAnswer& demand) {
  const auto found = targets_.find(demand.target);
  if (found == targets_.end()) return;
  Target& target = found->second;
  if (target.phase != Phase::asking || target.pass != demand.pass) return;
  if (!demand.failure) {
    target.last_contact = world_.now();
    target.credential = domain::CredentialState::ready;
    allocate(found->first, target, demand.jobs);
  }
  end_pass(found->first, target, demand.failure, demand.quota_left_percent);
}

void Engine::note_failure(Target& target, const GatewayFailure& failure) {
  target.failures = std::min<std::int64_t>(target.failures + 1, 60);
  target.error = failure.message;
  const auto credential = domain::credential_state_of(failure.code, failure.message);
  if (credential != domain::CredentialState::unknown) target.credential = credential;
  if (failure.retry_after.count() > 0) {
    target.held_until = domain::after(world_.now(), std::min(failure.retry_after, domain::kMaximumWait));
  }
}

void Engine::end_pass(const TargetKey& key, Target& target, const std::optional<GatewayFailure>& failure,
                      std::int64_t quota_left_percent) {
  target.phase = Phase::idle;
  const Instant now = world_.now();
  if (failure) {
    note_failure(target, *failure);
    log_.write(Level::warning, observe::Event::pass_failed,
               {{Field::target, key.target.str()},
                {Field::instance, key.gateway.str()},
                {Field::error_code, std::string(domain::to_string(failure->code))},
                {Field::message, failure->message}});
    for (auto& [name, state] : policies_) {
      if (serves(state.policy, key)) state.limited_by = trouble_of(failure->code);
    }
    const Millis wait = domain::doubling(options_.poll_quiet, target.failures, domain::kMaximumWait);
    const auto jittered = Millis{
        static_cast<std::int64_t>(static_cast<double>(wait.count()) * (0.75 + 0.25 * world_.jitter()))};
    target.next_poll = domain::after(now, std::max(jittered, Millis{1}));
    target.again = false;  // what happened meanwhile waits for the gateway as well
    return;
  }
  const bool silent = target.held_until && !domain::reached(*target.held_until, now);
  if (silent) {
    target.next_poll = target.held_until;
    return;
  }
  target.held_until.reset();
  target.failures = 0;
  target.error.clear();
  const bool runs = std::any_of(live_.begin(), live_.end(), [&key](const auto& entry) {
    const Attempt& attempt = entry.second.attempt;
    return belongs_to(attempt, key) && domain::is_live(attempt.state) && !attempt.ahead;
  });
  target.next_poll = domain::after(
      now, (runs ? options_.poll_active : options_.poll_quiet) * quota_factor(quota_left_percent));
}

std::vector<TargetView> Engine::targets() const {
  std::vector<TargetView> views;
  for (const auto& [key, target] : targets_) {
    views.push_back({.target = key,
                     .last_contact = target.last_contact,
                     .credential = target.credential,
                     .error = target.error,
                     .recovering = !target.recovered,
                     .refused_jobs = target.refused_jobs});
  }
  return views;
}

}  // namespace agent::reconcile
