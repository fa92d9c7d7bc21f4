#include "sim/sim_world.hpp"

#include <algorithm>

#include "sim/laws.hpp"

namespace simulation {

namespace event = agent::lifecycle::event;
using domain::EffectKind;
using domain::ErrorCode;

namespace {

// A listing is at most this far behind.
constexpr std::int64_t kListingLags = 10 * 60'000;

std::string hex_of(std::uint64_t bits, std::size_t digits) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t index = 0; index < digits; ++index)
    text.push_back(kDigits[(bits >> (4 * (index % 16))) & 15U]);
  return text;
}

// What may still happen after nobody waits for it any more without breaking a promise.
bool survives_its_call(EffectKind kind) {
  return kind == EffectKind::register_runner || kind == EffectKind::deregister;
}

std::string in_words(const domain::AttemptId& attempt, EffectKind kind, std::uint64_t seq) {
  return "attempt=" + attempt.str() + " kind=" + std::string(domain::to_string(kind)) +
         " seq=" + std::to_string(seq);
}

std::string body_in_words(const agent::lifecycle::EventBody& body) {
  if (const auto* failed = std::get_if<event::Failed>(&body))
    return " error=" + std::string(domain::to_string(failed->code));
  if (const auto* registered = std::get_if<event::Registered>(&body))
    return " runner=" + std::to_string(registered->runner.get());
  if (const auto* removed = std::get_if<event::Deregistered>(&body)) {
    static constexpr const char* kRemovals[] = {" gone", " not_listed", " busy"};
    const std::string found = removed->found ? " found=" + std::to_string(removed->found->get()) : "";
    return kRemovals[static_cast<std::size_t>(removed->removal)] + found;
  }
  return {};
}

event::Failed failure(ErrorCode code, bool process_existed = false) {
  return {.code = code, .retry_after = domain::Millis{0}, .process_existed = process_existed};
}

}  // namespace

void SimWorld::connect(reconcile::Engine* engine, agent::journal::Journal* journal) {
  engine_ = engine;
  journal_ = journal;
  dying = false;
  conduct.restarted();
}

domain::Instant SimWorld::now() {
  return {.wall_ms = 1'700'000'000'000 + schedule_.now_ms() + wall_offset_ms,
          .boot_ms = schedule_.now_ms() - boot_began_ms_,
          .boot_id = domain::BootId("boot-" + std::to_string(boot_))};
}

domain::AttemptId SimWorld::mint_attempt() {
  const std::string low = hex_of(chance_.bits(), 16);
  const std::string high = hex_of(chance_.bits(), 16);
  return domain::AttemptId(low.substr(0, 8) + "-" + low.substr(8, 4) + "-4" + low.substr(12, 3) + "-8" +
                           high.substr(0, 3) + "-" + high.substr(3, 12));
}

domain::Generation SimWorld::mint_generation() {
  return domain::Generation(hex_of(chance_.bits(), 16) + hex_of(chance_.bits(), 16));
}

void SimWorld::later(std::int64_t delay_ms, std::function<void()> work) {
  schedule_.after(delay_ms, [this, life = life_, work = std::move(work)] {
    if (life == life_ && engine_ != nullptr) work();
  });
}

// The promise that the whole design rests on is checked here: what is about to be done is in the journal.
void SimWorld::perform(const reconcile::Effect& effect) {
  if (dying) return;
  ++effects;
  if (tell) tell("effect " + in_words(effect.attempt->id, effect.kind, effect.seq));
  const auto row = journal_->find(effect.attempt->id);
  conduct.issued(effect, row ? *row : std::nullopt, schedule_.now_ms());
  if (effect.kind == EffectKind::release && !secrets_.contains(effect.attempt->id))
    nature_.violation("a start was asked for without its one-time secret");
  const auto& flying = in_flight_;
  if (std::any_of(flying.begin(), flying.end(),
                  [&](const auto& flight) { return flight.second.attempt->id == effect.attempt->id; }))
    nature_.violation("an effect was issued beside another one of the same attempt");
  if (operator_stops_at == effect.kind) {
    operator_stops_at.reset();
    later(chance_.between(0, 400), [this, attempt = effect.attempt->id] {
      engine_->on_event({.attempt = attempt, .seq = 0, .body = event::OperatorStop{}});
    });
  }
  const std::uint64_t flight = next_flight_++;
  in_flight_.emplace(flight, effect);
  const bool stuck = misbehaves(nature_.faults.call_stuck);
  const bool slow = misbehaves(0.02);
  const std::int64_t takes = stuck  ? chance_.between(60'000, 15 * 60'000)
                             : slow ? chance_.between(5'000, 50'000)
                                    : chance_.between(1, 400);
  later(takes, [this, flight, stuck] {
    const auto node = in_flight_.extract(flight);
    const reconcile::Effect& due = node.mapped();
    if (!stuck) {
      carry_out_in_time(due);
      return;
    }
    if (chance_.happens(0.5)) (void)carry_out(due);
    answer(due, failure(ErrorCode::deadline, due.kind == EffectKind::release));
  });
}

void SimWorld::carry_out_in_time(const reconcile::Effect& effect) {
  const bool asks_github = survives_its_call(effect.kind);
  if (asks_github && nature_.github_down) {
    answer(effect, failure(ErrorCode::unreachable));
    return;
  }
  if (effect.kind == EffectKind::register_runner && registrations_refused) {
    answer(effect, failure(chance_.happens(0.5) ? ErrorCode::denied : ErrorCode::not_found));
    return;
  }
  if (effect.kind == EffectKind::register_runner && misbehaves(nature_.faults.registration_limited)) {
    event::Failed limited = failure(ErrorCode::retry);
    limited.retry_after = domain::Millis{chance_.between(1'000, 15 * 60'000)};
    answer(effect, limited);
    return;
  }
  if (asks_github && misbehaves(nature_.faults.call_given_up)) {
    give_up(effect);
    return;
  }
  if (misbehaves(nature_.faults.effect_fails)) {
    static constexpr ErrorCode kCodes[] = {ErrorCode::retry, ErrorCode::unreachable, ErrorCode::bad_response};
    answer(effect, failure(kCodes[chance_.between(0, 2)]));
    return;
  }
  const Body body = carry_out(effect);
  if (misbehaves(nature_.faults.answer_lost)) {
    answer(effect, failure(ErrorCode::deadline, effect.kind == EffectKind::release));
    return;
  }
  answer(effect, body);
  if (misbehaves(nature_.faults.answer_doubled)) answer(effect, body);
}

// The call is over for the agent. What it asked for happens later, and its true answer may come then.
void SimWorld::give_up(const reconcile::Effect& effect) {
  answer(effect, failure(ErrorCode::deadline));
  later(chance_.between(1, 60'000), [this, effect, tells = chance_.happens(0.5)] {
    const Body body = carry_out(effect);
    if (tells && std::holds_alternative<event::Registered>(body)) answer(effect, body);
  });
}

void SimWorld::answer(const reconcile::Effect& effect, const Body& body) {
  later(chance_.between(0, 20),
        [this, kind = effect.kind,
         event = agent::lifecycle::Event{.attempt = effect.attempt->id, .seq = effect.seq, .body = body}] {
          // The secret comes with the answer, as in the daemon.
          if (const auto* registered = std::get_if<event::Registered>(&event.body))
            secrets_.insert_or_assign(event.attempt, registered->runner);
          if (tell) tell("answer " + in_words(event.attempt, kind, event.seq) + body_in_words(event.body));
          conduct.answered(event, kind, schedule_.now_ms());
          engine_->on_event(event);
        });
}

SimWorld::Body SimWorld::carry_out(const reconcile::Effect& effect) {
  const domain::Attempt& attempt = *effect.attempt;
  switch (effect.kind) {
    case EffectKind::acquire_package:
      return event::Acquired{.digest = domain::PackageDigest("package-" + std::to_string(offered_package)),
                             .downloaded = false};
    case EffectKind::materialize:
      if (!nature_.directories.insert(attempt.runtime).second && attempt.launch_retry.tries == 0)
        nature_.violation("two attempts share a runtime directory");
      return event::Materialized{};
    case EffectKind::prepare:
      if (!is_isolated(attempt.policy)) return event::Prepared{};
      if (misbehaves(nature_.faults.owned_by_others)) return failure(ErrorCode::exists);
      return event::Prepared{.environment = nature_.prepare(attempt.id).environment};
    case EffectKind::register_runner: {
      const auto id = nature_.register_runner(attempt);
      if (!id) return failure(ErrorCode::exists);
      return event::Registered{.runner = *id};
    }
    case EffectKind::spawn_held:
      nature_.hold(attempt.id, now().boot_id);
      return event::Held{.process = nature_.runners.at(attempt.id).identity};
    case EffectKind::release: {
      const auto secret = secrets_.extract(attempt.id);
      if (!secret) return failure(ErrorCode::internal);
      nature_.release(attempt.id, secret.mapped());
      return event::Started{};
    }
    case EffectKind::stop:
    case EffectKind::destroy: return remove_runner(*effect.attempt);
    case EffectKind::deregister: return deregister(attempt);
    case EffectKind::scrub:
      if (misbehaves(nature_.faults.residue)) return failure(ErrorCode::busy);
      nature_.directories.erase(attempt.runtime);
      return event::Scrubbed{};
  }
  return failure(ErrorCode::internal);
}

// Stops the runner; once the attempt is concluded, removes what it was.
SimWorld::Body SimWorld::remove_runner(const domain::Attempt& attempt) {
  const auto runner = nature_.runners.find(attempt.id);
  if (runner != nature_.runners.end() && runner->second.duplicated) return failure(ErrorCode::exists);
  std::optional<std::int64_t> allowed;
  if (attempt.termination && attempt.termination->kind == domain::TerminationKind::by_operator) allowed = 0;
  if (attempt.termination && attempt.termination->kind == domain::TerminationKind::job_timeout)
    allowed = attempt.policy.timeouts.job.count();
  nature_.kill(attempt.id, allowed);
  if (lives(attempt.state)) return event::Stopped{};
  nature_.remove(attempt.id);
  return event::Destroyed{};
}

SimWorld::Body SimWorld::deregister(const domain::Attempt& attempt) {
  std::optional<domain::RunnerId> id = attempt.runner;
  std::optional<domain::RunnerId> found;
  if (!id || attempt.unanswered_at) {
    const auto listed = nature_.registrations.find(domain::runner_name(attempt.id));
    const bool known = listed != nature_.registrations.end();
    const bool lacks = known && schedule_.now_ms() < listed->second.made_ms + kListingLags &&
                       misbehaves(nature_.faults.listing_lacks);
    if (known && !lacks) found = listed->second.id;
    if (found) id = found;
    if (!id) return event::Deregistered{.removal = event::Removal::not_listed, .found = std::nullopt};
  }
  const bool gone = !misbehaves(nature_.faults.removal_busy) && nature_.remove_registration(*id);
  return event::Deregistered{.removal = gone ? event::Removal::gone : event::Removal::busy, .found = found};
}

void SimWorld::crash() {
  engine_ = nullptr;
  journal_ = nullptr;
  ++life_;
  std::map<std::uint64_t, reconcile::Effect> in_flight;
  in_flight.swap(in_flight_);
  for (const auto& [flight, effect] : in_flight) {
    // A request that is on the wire may still arrive, long after the agent that sent it died.
    if (effect.kind == EffectKind::register_runner) {
      if (chance_.happens(0.5)) {
        schedule_.after(chance_.between(0, 50'000),
                        [this, attempt = effect.attempt] { (void)nature_.register_runner(*attempt); });
      }
    } else if (chance_.happens(0.5)) {
      (void)carry_out(effect);
    }
  }
  secrets_.clear();
  seen_.clear();
  nature_.close_gates();
}

void SimWorld::reboot() {
  nature_.reboot();
  ++boot_;
  boot_began_ms_ = schedule_.now_ms() - 1'000;
}

std::int64_t SimWorld::stray_secrets() const {
  std::int64_t stray = 0;
  for (const auto& [id, secret] : secrets_) {
    const auto row = ledger_.rows().find(id);
    if (row == ledger_.rows().end() || !lives(row->second.state)) ++stray;
  }
  return stray;
}

void SimWorld::look(const reconcile::AttemptPointer& attempt, std::uint64_t pass) {
  if (dying) return;
  later(chance_.between(0, 50), [this, attempt, pass] {
    reconcile::Look look;
    look.attempt = attempt->id;
    look.pass = pass;
    std::int64_t& blind = blind_until_ms_[attempt->id];
    if (misbehaves(0.004)) blind = schedule_.now_ms() + chance_.between(60'000, 15 * 60'000);
    const bool seeing = !nature_.faults.on || schedule_.now_ms() >= blind;
    if (seeing && !misbehaves(nature_.faults.look_unknown)) {
      const bool made = attempt->process || attempt->environment;
      look.environment = made ? nature_.view_of(attempt->id) : domain::EnvironmentView::missing;
      const auto runner = nature_.runners.find(attempt->id);
      if (look.environment == domain::EnvironmentView::exited) {
        look.clean = runner->second.clean;
        look.exit_code = runner->second.exit_code;
      }
      look.evidence = nature_.evidence_of(attempt->id);
    }
    if (look.environment != domain::EnvironmentView::unknown) seen_[pass].insert(attempt->id);
    engine_->on_look(look);
  });
}

std::optional<reconcile::GatewayFailure> SimWorld::gateway_failure() {
  if (!nature_.github_down && !misbehaves(nature_.faults.gateway_down)) return std::nullopt;
  const bool limited = !nature_.github_down && chance_.happens(0.3);
  return reconcile::GatewayFailure{
      .code = limited ? ErrorCode::retry : ErrorCode::unreachable,
      .retry_after = domain::Millis{limited ? chance_.between(1'000, 120'000) : 0},
      .message = "made failure"};
}

// A listing shows what was when it was asked for, and arrives later. One that broke off holds a part.
void SimWorld::list_inventory(const reconcile::TargetKey& target, std::uint64_t pass) {
  if (dying) return;
  reconcile::Inventory inventory;
  inventory.target = target;
  inventory.pass = pass;
  inventory.runners = nature_.runner_listing(target.target);
  inventory.failure = gateway_failure();
  if (inventory.failure && !inventory.runners.empty())
    inventory.runners.resize(static_cast<std::size_t>(
        chance_.between(0, static_cast<std::int64_t>(inventory.runners.size()) - 1)));
  later(misbehaves(0.05) ? chance_.between(1'000, 20'000) : chance_.between(5, 300), [this, inventory] {
    if (!inventory.failure) ledger_.reconciled(inventory.target, seen_[inventory.pass]);
    seen_.erase(inventory.pass);
    engine_->on_inventory(inventory);
  });
}

void SimWorld::ask_demand(const reconcile::TargetKey& target, std::uint64_t pass) {
  if (dying) return;
  reconcile::DemandAnswer demand;
  demand.target = target;
  demand.pass = pass;
  demand.jobs = nature_.job_listing(target.target);
  demand.failure = gateway_failure();
  if (demand.failure && !demand.jobs.empty()) demand.jobs.pop_back();
  later(misbehaves(0.03) ? chance_.between(1'000, 20'000) : chance_.between(5, 300), [this, demand] {
    if (!demand.failure) ledger_.told(demand.target, demand.jobs);
    engine_->on_demand(demand);
  });
}

void SimWorld::restore_reserve() {
  if (dying) return;
  reconcile::ReserveAnswer answer{.held = !misbehaves(0.3), .message = {}};
  if (!answer.held) answer.message = "the disk is still full";
  later(chance_.between(1, 50), [this, answer] { engine_->on_reserve(answer); });
}

void SimWorld::probe(const domain::Policy& policy) {
  if (dying) return;
  reconcile::ReadinessAnswer ready;
  ready.policy = policy.name;
  ready.package_inside = policy.warm > 0;
  if (provider_closed) ready.blocked = domain::LimitingFactor::provider_not_ready;
  later(chance_.between(1, 50), [this, ready] { engine_->on_readiness(ready); });
}

}  // namespace simulation
