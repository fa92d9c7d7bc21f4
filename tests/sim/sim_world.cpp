#include "sim/sim_world.hpp"

namespace simulation {

namespace event = agent::lifecycle::event;
using domain::EffectKind;
using domain::ErrorCode;

namespace {

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

event::Failed failure(ErrorCode code, bool process_existed = false) {
  return {.code = code, .retry_after = domain::Millis{0}, .process_existed = process_existed};
}

}  // namespace

void SimWorld::connect(reconcile::Engine* engine, agent::journal::Journal* journal) {
  engine_ = engine;
  journal_ = journal;
  dying = false;
}

domain::Instant SimWorld::now() {
  return {.wall_ms = 1'700'000'000'000 + schedule_.now_ms() + wall_offset_ms,
          .boot_ms = schedule_.now_ms(),
          .boot_id = domain::BootId("boot")};
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

// The promise that the whole design rests on: what is about to be done is in the journal already.
void SimWorld::check_intent(const reconcile::Effect& effect) {
  auto row = journal_->find(effect.attempt->id);
  const bool durable = row && *row && (*row)->pending && (*row)->pending->seq == effect.seq &&
                       (*row)->pending->kind == effect.kind;
  if (!durable) {
    nature_.violation("effect " + std::string(domain::to_string(effect.kind)) +
                      " was issued before its intent was durable");
  }
}

void SimWorld::perform(const reconcile::Effect& effect) {
  if (dying) return;
  ++effects;
  check_intent(effect);
  const std::uint64_t flight = next_flight_++;
  in_flight_.emplace(flight, effect);
  const bool slow = misbehaves(0.02);
  later(slow ? chance_.between(5'000, 50'000) : chance_.between(1, 400), [this, flight] {
    const auto node = in_flight_.extract(flight);
    const reconcile::Effect& due = node.mapped();
    if (due.kind == EffectKind::register_runner && misbehaves(nature_.faults.registration_limited)) {
      event::Failed limited = failure(ErrorCode::retry);
      limited.retry_after = domain::Millis{chance_.between(1'000, 15 * 60'000)};
      answer(due, limited);
      return;
    }
    if (survives_its_call(due.kind) && misbehaves(nature_.faults.call_given_up)) {
      answer(due, failure(ErrorCode::deadline));
      later(chance_.between(1, 60'000), [this, due] { (void)carry_out(due); });
      return;
    }
    if (misbehaves(nature_.faults.effect_fails)) {
      static constexpr ErrorCode kCodes[] = {ErrorCode::retry, ErrorCode::unreachable,
                                             ErrorCode::bad_response};
      answer(due, failure(kCodes[chance_.between(0, 2)]));
      return;
    }
    const Body body = carry_out(due);
    if (misbehaves(nature_.faults.answer_lost)) {
      answer(due, failure(ErrorCode::deadline, due.kind == EffectKind::release));
      return;
    }
    answer(due, body);
    if (misbehaves(nature_.faults.answer_doubled)) answer(due, body);
  });
}

void SimWorld::answer(const reconcile::Effect& effect, const Body& body) {
  later(chance_.between(0, 20), [this, event = agent::lifecycle::Event{
                                           .attempt = effect.attempt->id, .seq = effect.seq, .body = body}] {
    // The secret comes with the answer, as in the daemon.
    if (std::holds_alternative<event::Registered>(event.body)) secrets_.insert(event.attempt);
    engine_->on_event(event);
  });
}

SimWorld::Body SimWorld::carry_out(const reconcile::Effect& effect) {
  const domain::Attempt& attempt = *effect.attempt;
  switch (effect.kind) {
    case EffectKind::acquire_package:
      return event::Acquired{.digest = domain::PackageDigest(std::string(64, 'd')), .downloaded = false};
    case EffectKind::materialize:
      if (!nature_.directories.insert(attempt.runtime).second && attempt.launch_retry.tries == 0) {
        nature_.violation("two attempts share a runtime directory");
      }
      return event::Materialized{};
    case EffectKind::prepare: return event::Prepared{};
    case EffectKind::register_runner: {
      const auto id = nature_.register_name(domain::runner_name(attempt.id));
      if (!id) return failure(ErrorCode::exists);
      return event::Registered{.runner = *id};
    }
    case EffectKind::spawn_held:
      nature_.hold(attempt.id);
      return event::Held{.process = nature_.processes.at(attempt.id).identity};
    case EffectKind::release:
      if (secrets_.erase(attempt.id) == 0) return failure(ErrorCode::internal);
      nature_.release(attempt.id);
      return event::Started{};
    case EffectKind::stop: nature_.kill(attempt.id); return event::Stopped{};
    case EffectKind::destroy:
      nature_.kill(attempt.id);
      nature_.processes.erase(attempt.id);
      return event::Destroyed{};
    case EffectKind::deregister: {
      std::optional<domain::RunnerId> id = attempt.runner;
      std::optional<domain::RunnerId> found;
      if (!id || attempt.unanswered) {
        const auto listed = nature_.registrations.find(domain::runner_name(attempt.id));
        if (listed != nature_.registrations.end() && !misbehaves(nature_.faults.listing_lacks))
          found = listed->second.id;
        if (found) id = found;
        if (!id) return event::Deregistered{.removal = event::Removal::not_listed, .found = std::nullopt};
      }
      const bool gone = !misbehaves(nature_.faults.removal_busy) && nature_.remove_registration(*id);
      return event::Deregistered{.removal = gone ? event::Removal::gone : event::Removal::busy,
                                 .found = found};
    }
    case EffectKind::scrub:
      if (misbehaves(nature_.faults.residue)) return failure(ErrorCode::busy);
      nature_.directories.erase(attempt.runtime);
      return event::Scrubbed{};
  }
  return failure(ErrorCode::internal);
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
        schedule_.after(chance_.between(0, 50'000), [this, name = domain::runner_name(effect.attempt->id)] {
          (void)nature_.register_name(name);
        });
      }
    } else if (chance_.happens(0.5)) {
      (void)carry_out(effect);
    }
  }
  secrets_.clear();
  nature_.close_gates();
}

void SimWorld::look(const reconcile::AttemptPointer& attempt, std::uint64_t pass) {
  if (dying) return;
  later(chance_.between(0, 50), [this, attempt, pass] {
    reconcile::Look look;
    look.attempt = attempt->id;
    look.pass = pass;
    if (!misbehaves(nature_.faults.look_unknown)) {
      look.environment = attempt->process ? nature_.view_of(attempt->id) : domain::EnvironmentView::missing;
      const auto process = nature_.processes.find(attempt->id);
      if (look.environment == domain::EnvironmentView::exited) {
        look.clean = process->second.clean;
        look.exit_code = process->second.exit_code;
      }
      look.evidence = nature_.evidence_of(attempt->id);
    }
    engine_->on_look(look);
  });
}

std::optional<reconcile::GatewayFailure> SimWorld::gateway_failure() {
  if (!misbehaves(nature_.faults.gateway_down)) return std::nullopt;
  const bool limited = chance_.happens(0.3);
  return reconcile::GatewayFailure{
      .code = limited ? ErrorCode::retry : ErrorCode::unreachable,
      .retry_after = domain::Millis{limited ? chance_.between(1'000, 120'000) : 0},
      .message = "made failure"};
}

// A listing shows what was when it was asked for, and arrives later.
void SimWorld::list_inventory(const reconcile::TargetKey& target, std::uint64_t pass) {
  if (dying) return;
  reconcile::Inventory inventory;
  inventory.target = target;
  inventory.pass = pass;
  inventory.failure = gateway_failure();
  if (!inventory.failure) inventory.runners = nature_.runner_listing();
  later(misbehaves(0.05) ? chance_.between(1'000, 20'000) : chance_.between(5, 300),
        [this, inventory] { engine_->on_inventory(inventory); });
}

void SimWorld::ask_demand(const reconcile::TargetKey& target, std::uint64_t pass) {
  if (dying) return;
  reconcile::DemandAnswer demand;
  demand.target = target;
  demand.pass = pass;
  demand.failure = gateway_failure();
  if (!demand.failure) demand.jobs = nature_.job_listing();
  later(chance_.between(5, 300), [this, demand] { engine_->on_demand(demand); });
}

void SimWorld::probe(const domain::Policy& policy) {
  if (dying) return;
  reconcile::ReadinessAnswer ready;
  ready.policy = policy.name;
  later(chance_.between(1, 50), [this, ready] { engine_->on_readiness(ready); });
}

}  // namespace simulation
