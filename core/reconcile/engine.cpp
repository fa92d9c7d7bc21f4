#include "reconcile/engine.hpp"

#include <algorithm>

#include "domain/state.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::Instant;
using domain::Millis;
using observe::Field;
using observe::Level;

namespace {

constexpr Millis kHistoryPruneInterval{60'000};
constexpr Millis kHistoryBacklogInterval{10'000};  // while a step was not enough

std::string word(domain::State state) { return std::string(domain::to_string(state)); }

bool settled(const Attempt& attempt) {
  return attempt.state == domain::State::cleaned && !attempt.deregistration_owed &&
         !attempt.replacement_wanted && !attempt.pending;
}

void consider(std::optional<Instant>& soonest, const std::optional<Instant>& candidate, const Instant& now) {
  if (!candidate) return;
  if (!soonest || domain::elapsed(now, *candidate) < domain::elapsed(now, *soonest)) soonest = candidate;
}

}  // namespace

Engine::Engine(EngineOptions options, World& world, journal::Journal& journal, observe::Log& log)
    : options_(options), world_(world), journal_(journal), log_(log) {}

domain::Result<void> Engine::start(std::vector<domain::Policy> policies) {
  for (domain::Policy& policy : policies) {
    target_of(policy);
    PolicyState state;
    state.policy = policy;
    policies_.emplace(policy.name, std::move(state));
  }
  auto rows = journal_.load_active();
  if (!rows) return rows.error();
  for (Attempt& row : *rows) {
    Target& target = target_of(row.policy);
    const bool reconcile = domain::is_live(row.state);
    if (reconcile) target.recovered = false;
    const domain::AttemptId id = row.id;
    live_[id] = Live{.attempt = std::move(row), .resumed = reconcile};
    inputs_.emplace_back(lifecycle::Event{.attempt = id, .seq = 0, .body = lifecycle::event::Resumed{}});
    log_.write(Level::info, observe::Event::attempt_resumed,
               {{Field::attempt, id.str()}, {Field::state, word(live_[id].attempt.state)}});
  }
  return load_residues();
}

void Engine::on_event(lifecycle::Event event) { inputs_.emplace_back(std::move(event)); }
void Engine::on_look(Look look) { inputs_.emplace_back(std::move(look)); }
void Engine::on_inventory(Inventory inventory) { inputs_.emplace_back(std::move(inventory)); }
void Engine::on_demand(DemandAnswer demand) { inputs_.emplace_back(std::move(demand)); }
void Engine::on_readiness(ReadinessAnswer readiness) { inputs_.emplace_back(std::move(readiness)); }

void Engine::on_residue(std::vector<ResidueSeen> seen) { inputs_.emplace_back(std::move(seen)); }

void Engine::on_exit_hint(const domain::AttemptId& attempt) {
  const auto found = live_.find(attempt);
  if (found == live_.end()) return;
  poll_now(key_of(found->second.attempt.policy));
}

void Engine::poll_now(const TargetKey& key) {
  const auto found = targets_.find(key);
  if (found == targets_.end()) return;
  found->second.again = true;
}

lifecycle::Context Engine::context_for(const Attempt& attempt) const {
  const auto policy = policies_.find(attempt.policy.name);
  // An unknown demand is taken for a demand: giving up a job that waits is worse than one idle runner.
  const bool persists = policy != policies_.end() && policy->second.queued.value_or(1) > 0;
  const TargetKey key = key_of(attempt.policy);
  const bool served = std::any_of(policies_.begin(), policies_.end(),
                                  [&key](const auto& entry) { return serves(entry.second.policy, key); });
  return {.now = world_.now(),
          .demand_persists = persists,
          .launching_allowed = !draining_,
          .target_configured = served};
}

// What comes for an attempt whose row rests waits with it; looks and timers come again by themselves.
bool Engine::park(const lifecycle::Event& event) {
  const auto found = live_.find(event.attempt);
  if (found == live_.end() || !found->second.refused) return false;
  found->second.refused->events.push_back(event);
  return true;
}

void Engine::stage(const lifecycle::Event& event) {
  const auto found = live_.find(event.attempt);
  if (found == live_.end()) {
    // An answer for an attempt that is settled: nothing is left to change.
    if (std::holds_alternative<lifecycle::event::Registered>(event.body))
      dropped_secrets_.push_back(event.attempt);
    return;
  }
  note_slot(found->second, event);
  note_sandbox(found->second, event);
  adopt_step(found->second,
             lifecycle::step(found->second.attempt, event, context_for(found->second.attempt)));
}

// In memory alone: a restart cleans at once and finds out anew.
void Engine::note_slot(Live& live, const lifecycle::Event& event) {
  const auto& pending = live.attempt.pending;
  if (!pending || pending->kind != domain::EffectKind::scrub || pending->seq != event.seq) return;
  const auto* failed = std::get_if<lifecycle::event::Failed>(&event.body);
  live.slot = failed != nullptr ? failed->slot : std::nullopt;
}

void Engine::note_sandbox(Live& live, const lifecycle::Event& event) {
  const auto& pending = live.attempt.pending;
  if (!pending || pending->kind != domain::EffectKind::destroy || pending->seq != event.seq) return;
  const auto* failed = std::get_if<lifecycle::event::Failed>(&event.body);
  live.quarantined = failed != nullptr && failed->quarantined;
}

void Engine::adopt_step(Live& live, lifecycle::Step step) {
  const Attempt& old = live.attempt;
  const domain::AttemptId id = old.id;
  if (step.drop_secret) dropped_secrets_.push_back(id);
  if (step.refused_for_good) refused_launches_.insert(id);
  if (step.observe_soon) poll_now(key_of(old.policy));
  if (step.attempt == old) return;
  before_.try_emplace(id, live);
  if (step.attempt.state != old.state) {
    live.changed_tick = ++tick_;
    records_.push_back(
        {.attempt = id, .at = step.attempt.changed_at, .word = word(step.attempt.state), .detail = {}});
    if (step.attempt.state == domain::State::cleaned) prune_wanted_ = true;
    if (!domain::is_live(step.attempt.state)) {
      live.resumed = false;
      poll_now(key_of(old.policy));
    }
  }
  if (step.attempt.jit_requested_at != old.jit_requested_at) live.changed_tick = ++tick_;
  live.attempt = std::move(step.attempt);
  // The row may still change in this turn; what is issued is the row as it was committed.
  for (const lifecycle::Order& order : step.orders) {
    records_.push_back({.attempt = id,
                        .at = live.attempt.pending ? live.attempt.pending->issued_at : world_.now(),
                        .word = std::string(domain::to_string(order.kind)),
                        .detail = {}});
    staged_.push_back(
        {.kind = order.kind, .seq = order.seq, .attempt = std::make_shared<const Attempt>(live.attempt)});
  }
  withdraw_launch(live);
}

// A launch step that was ordered in the same turn in which the attempt ended has not been issued and never
// will be.
void Engine::withdraw_launch(const Live& live) {
  const Attempt& attempt = live.attempt;
  if (!domain::is_concluded(attempt.state) || !attempt.pending) return;
  const domain::Pending pending = *attempt.pending;
  const domain::AttemptId id = attempt.id;
  if (!lifecycle::is_launch_effect(pending.kind)) return;
  const auto ordered = std::find_if(staged_.begin(), staged_.end(), [&](const Effect& effect) {
    return effect.attempt->id == id && effect.seq == pending.seq;
  });
  if (ordered == staged_.end()) return;
  staged_.erase(ordered);
  stage({.attempt = id,
         .seq = pending.seq,
         .body = lifecycle::event::Failed{
             .code = domain::ErrorCode::unsupported, .retry_after = {}, .process_existed = false}});
}

void Engine::create(Attempt attempt) {
  const domain::AttemptId id = attempt.id;
  Live& live = live_[id];
  live.attempt.id = id;
  live.attempt.policy = attempt.policy;
  created_.insert(id);
  adopt_step(live, lifecycle::begin(std::move(attempt), world_.now()));
  records_.push_back(
      {.attempt = id, .at = live.attempt.changed_at, .word = word(live.attempt.state), .detail = {}});
}

void Engine::take(Input& input) {
  if (const auto* event = std::get_if<lifecycle::Event>(&input)) {
    note_full(*event);
    if (park(*event)) return;
    answered_.push_back(*event);
    stage(*event);
  } else if (const auto* look = std::get_if<Look>(&input)) {
    take_look(*look);
  } else if (const auto* inventory = std::get_if<Inventory>(&input)) {
    take_inventory(*inventory);
  } else if (const auto* demand = std::get_if<DemandAnswer>(&input)) {
    take_demand(*demand);
  } else if (const auto* residue = std::get_if<std::vector<ResidueSeen>>(&input)) {
    take_residue(*residue);
  } else if (const auto* reserve = std::get_if<ReserveAnswer>(&input)) {
    take_reserve(*reserve);
  } else {
    take_readiness(std::get<ReadinessAnswer>(input));
  }
}

void Engine::raise_timers() {
  const Instant now = world_.now();
  std::vector<domain::AttemptId> due;
  for (const auto& [id, live] : live_) {
    const auto at = wakeup_of(live);
    if (at && domain::reached(*at, now)) due.push_back(id);
  }
  for (const domain::AttemptId& id : due) {
    readmit(live_.at(id));
    stage({.attempt = id, .seq = 0, .body = lifecycle::event::Timer{}});
  }
}

std::optional<Instant> Engine::wakeup_of(const Live& live) {
  return live.refused ? std::optional(live.refused->retry.due) : lifecycle::next_due(live.attempt);
}

void Engine::turn() {
  if (retry_commit_at_ && !domain::reached(*retry_commit_at_, world_.now())) return;
  retry_commit_at_.reset();
  std::deque<Input> inputs;
  inputs.swap(inputs_);
  for (Input& input : inputs)
    take(input);
  raise_timers();
  end_outdated();
  begin_due_passes();
  if (!commit()) return;
  issue_staged();
  forget_settled();
  sweep_due();
  prune_history();
  probe_due();
  restore_reserve_due();
}

void Engine::issue_staged() {
  std::vector<Effect> effects;
  effects.swap(staged_);
  for (Effect& effect : effects) {
    const auto policy = policies_.find(effect.attempt->policy.name);
    const bool asks = effect.kind == domain::EffectKind::scrub && effect.attempt->slot;
    if (asks && policy != policies_.end())
      effect.configured = std::make_shared<const domain::Policy>(policy->second.policy);
    world_.perform(effect);
  }
  std::vector<domain::AttemptId> dropped;
  dropped.swap(dropped_secrets_);
  for (const domain::AttemptId& id : dropped)
    world_.drop_secret(id);
}

// Settled attempts leave memory; what they leave on the disk is pruned when nothing copies or installs.
void Engine::forget_settled() {
  for (auto entry = live_.begin(); entry != live_.end();) {
    const Attempt& attempt = entry->second.attempt;
    if (!settled(attempt)) {
      ++entry;
      continue;
    }
    log_.write(Level::info, observe::Event::attempt_cleaned,
               {{Field::attempt, attempt.id.str()}, {Field::policy, attempt.policy.name.str()}});
    entry = live_.erase(entry);
  }
  const auto uses_cache = [](const auto& entry) {
    const auto& pending = entry.second.attempt.pending;
    return pending && (pending->kind == domain::EffectKind::acquire_package ||
                       pending->kind == domain::EffectKind::materialize);
  };
  forget_unused_targets();
  if (prune_wanted_ && std::none_of(live_.begin(), live_.end(), uses_cache)) {
    prune_wanted_ = false;
    std::set<domain::PackageDigest> leased;
    for (const auto& [id, live] : live_) {
      if (live.attempt.package && live.attempt.state != domain::State::cleaned)
        leased.insert(*live.attempt.package);
    }
    world_.prune_packages(leased);
  }
}

void Engine::prune_history() {
  const Instant now = world_.now();
  if (next_history_prune_ && !domain::reached(*next_history_prune_, now)) return;
  next_history_prune_ = domain::after(now, kHistoryPruneInterval);
  const auto pruned =
      journal_.prune(now.wall_ms - options_.keep_for.count(), options_.keep_attempts, kHistoryPruneStep);
  if (!pruned) {
    log_.write(Level::warning, observe::Event::journal_failed,
               {{Field::error_code, std::string(domain::to_string(pruned.error().code))},
                {Field::message, pruned.error().message}});
  } else if (*pruned >= kHistoryPruneStep) {
    next_history_prune_ = domain::after(now, kHistoryBacklogInterval);
  }
}

std::optional<Instant> Engine::next_wakeup() const {
  const Instant now = world_.now();
  std::optional<Instant> soonest;
  if (retry_commit_at_) return retry_commit_at_;
  if (!inputs_.empty()) return now;
  for (const auto& [id, live] : live_)
    consider(soonest, wakeup_of(live), now);
  for (const auto& [key, target] : targets_) {
    if (target.phase != Phase::idle) continue;
    if (target.again) return now;
    if (!draining_) consider(soonest, target.next_poll ? target.next_poll : std::optional(now), now);
  }
  for (const auto& [name, state] : policies_) {
    if (!state.probing && !draining_) {
      consider(soonest, state.probed_at ? domain::after(*state.probed_at, options_.readiness_age) : now, now);
    }
  }
  if (!draining_) consider(soonest, next_sweep(), now);
  if (restore_reserve_at_ && !restoring_reserve_) consider(soonest, restore_reserve_at_, now);
  return soonest;
}

void Engine::drain() { draining_ = true; }

bool Engine::quiescent() const {
  if (retry_commit_at_ || !inputs_.empty()) return false;
  return std::none_of(live_.begin(), live_.end(), [](const auto& entry) {
    return entry.second.attempt.pending || lifecycle::in_bring_up(entry.second.attempt);
  });
}

std::int64_t Engine::active() const {
  return std::count_if(live_.begin(), live_.end(), [](const auto& entry) {
    const Attempt& attempt = entry.second.attempt;
    return domain::counts_against_host(attempt.policy.provider_kind, attempt.state);
  });
}

std::vector<Attempt> Engine::attempts() const {
  std::vector<Attempt> rows;
  for (const auto& [id, live] : live_)
    rows.push_back(live.attempt);
  std::sort(rows.begin(), rows.end(), [](const Attempt& left, const Attempt& right) {
    return std::pair(left.times.granted.wall_ms, left.id) < std::pair(right.times.granted.wall_ms, right.id);
  });
  return rows;
}

}  // namespace agent::reconcile
