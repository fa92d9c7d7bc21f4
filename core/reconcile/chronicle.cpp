// What the log says about an attempt once it is durable.
#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::Instant;
using domain::Millis;
using observe::Event;
using observe::Field;
using observe::Level;

namespace {

constexpr Millis kSlowLaunch{60'000};

std::int64_t between(const std::optional<Instant>& from, const std::optional<Instant>& to) {
  return from && to ? domain::elapsed(*from, *to).count() : 0;
}

// What was prepared ahead and never claimed is the end of no launch that a job asked for.
bool ended_unstarted(const Attempt& before, const Attempt& now) {
  return !now.ahead && !now.times.started && domain::is_live(before.state) && !domain::is_live(now.state);
}

}  // namespace

void Engine::report(const Attempt& before, const Attempt& now, bool created) {
  const std::string id = now.id.str();
  const std::string policy = now.policy.name.str();
  if (now.state != before.state || created) {
    log_.write(Level::info, Event::attempt_state_changed,
               {{Field::attempt, id},
                {Field::policy, policy},
                {Field::state, std::string(domain::to_string(now.state))},
                {Field::previous_state, std::string(created ? "none" : domain::to_string(before.state))}});
  }
  const bool launch_ended =
      (now.times.started && !before.times.started) || (!created && ended_unstarted(before, now));
  if (launch_ended) report_launch(now);
  if (now.outcome && !before.outcome) {
    const auto& reason = now.outcome->reason;
    const bool unclaimed = now.ahead && reason == domain::FailureReason::preparation_interrupted;
    log_.write(reason && !unclaimed ? Level::warning : Level::info, Event::attempt_concluded,
               {{Field::attempt, id},
                {Field::policy, policy},
                {Field::outcome, std::string(domain::to_string(now.outcome->kind))},
                {Field::reason, std::string(reason ? domain::to_string(*reason) : "none")},
                {Field::exit_code, now.exit_code.value_or(-1)},
                {Field::out_of_memory, now.outcome->out_of_memory}});
  }
  if (before.deregistration_owed && !now.deregistration_owed && !now.absence_observed) {
    log_.write(Level::warning, Event::deregistration_dropped,
               {{Field::attempt, id}, {Field::policy, policy}, {Field::target, now.policy.target.str()}});
  }
  const auto deferred = [&](Event event, const domain::Retry& was, const domain::Retry& is) {
    if (is.tries <= was.tries || domain::is_live(now.state)) return;
    log_.write(Level::warning, event,
               {{Field::attempt, id},
                {Field::policy, policy},
                {Field::tries, is.tries},
                {Field::wait_ms, domain::elapsed(world_.now(), is.due).count()}});
  };
  deferred(Event::cleanup_deferred, before.cleanup_retry, now.cleanup_retry);
  deferred(Event::deregistration_deferred, before.deregistration_retry, now.deregistration_retry);
}

// Step times of a launch, whether it started a runner or not. What was prepared ahead took none of the job's
// time.
void Engine::report_launch(const Attempt& attempt) {
  const domain::LaunchTimes& times = attempt.times;
  const bool claimed = times.demand_seen && between(times.granted, times.demand_seen) > 0;
  const Instant began = claimed ? *times.demand_seen : times.granted;
  const bool prepared_before = claimed && times.prepared && between(times.prepared, began) > 0;
  const auto register_from = prepared_before ? std::optional(began) : times.prepared;
  const std::int64_t total = domain::elapsed(began, world_.now()).count();
  const bool slow = total >= kSlowLaunch.count() || !times.started;
  log_.write(slow ? Level::warning : Level::info, Event::launch_timing,
             {{Field::attempt, attempt.id.str()},
              {Field::policy, attempt.policy.name.str()},
              {Field::started, times.started.has_value()},
              {Field::duration_ms, total},
              {Field::order_ms, claimed ? 0 : between(times.demand_seen, times.granted)},
              {Field::package_ms, between(times.granted, times.package_acquired)},
              {Field::copy_ms, between(times.package_acquired, times.materialized)},
              {Field::prepare_ms, between(times.materialized, times.prepared)},
              {Field::register_ms, between(register_from, times.registered)},
              {Field::spawn_ms, between(times.registered, times.started)}});
}

}  // namespace agent::reconcile
