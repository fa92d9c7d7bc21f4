// What comes next for a row, and when.
#include "domain/decision.hpp"
#include "domain/state.hpp"
#include "lifecycle/parts.hpp"

namespace agent::lifecycle {

using domain::Attempt;
using domain::EffectKind;
using domain::State;
using domain::TerminationStep;

namespace {

bool due(const domain::Retry& retry, const domain::Instant& now) {
  return retry.tries == 0 || domain::reached(retry.due, now);
}

domain::FailureReason given_up_at(EffectKind step) {
  switch (step) {
    case EffectKind::acquire_package:
    case EffectKind::materialize: return domain::FailureReason::package_unavailable;
    case EffectKind::register_runner: return domain::FailureReason::jit_request_failed;
    default: return domain::FailureReason::process_start_failed;
  }
}

void progress_launch(Step& out, const Context& context) {
  Attempt& attempt = out.attempt;
  if (attempt.launch_retry.tries == 0 || !domain::reached(attempt.launch_retry.due, context.now)) return;
  const auto next = next_launch_step(attempt);
  if (!next) return;
  if (!context.demand_persists || !context.launching_allowed) {
    conclude(out, {.kind = domain::OutcomeKind::failed, .reason = given_up_at(*next)}, context);
    return;
  }
  // A registration is never asked for twice blindly: what the first request may have left is removed by name
  // first.
  const bool look_first = *next == EffectKind::register_runner && attempt.jit_requested_at;
  issue(out, look_first ? EffectKind::deregister : *next, context.now);
}

void progress_termination(Step& out, const Context& context) {
  const Attempt& attempt = out.attempt;
  if (!due(attempt.cleanup_retry, context.now)) return;
  const bool first = attempt.termination->step == TerminationStep::deregister;
  issue(out, first ? EffectKind::deregister : EffectKind::stop, context.now);
}

void progress_ending(Step& out, const Context& context) {
  Attempt& attempt = out.attempt;
  const bool forgiven = !context.target_configured && attempt.state == State::cleaned &&
                        attempt.deregistration_retry.tries > 0 &&
                        domain::elapsed(attempt.changed_at, context.now) >= kForgetDebt;
  if (attempt.deregistration_owed && forgiven) {
    attempt.deregistration_owed = false;
    attempt.deregistration_retry = {};
  }
  if (attempt.deregistration_owed && due(attempt.deregistration_retry, context.now)) {
    issue(out, EffectKind::deregister, context.now);
    return;
  }
  if (attempt.state == State::cleaned || !due(attempt.cleanup_retry, context.now)) return;
  if (is_isolated(attempt) && attempt.state != State::destroying)
    (void)domain::transition(attempt, State::destroying, context.now);
  issue(out, attempt.environment_removed ? EffectKind::scrub : EffectKind::destroy, context.now);
}

}  // namespace

void issue(Step& out, EffectKind kind, const domain::Instant& now) {
  Attempt& attempt = out.attempt;
  const std::uint64_t seq = attempt.next_seq++;
  attempt.pending = domain::Pending{.kind = kind, .seq = seq, .issued_at = now};
  if (kind == EffectKind::register_runner) {
    ++attempt.jit_requests;
    attempt.jit_requested_at = now;
    attempt.absence_observed = false;
  }
  out.orders.push_back({.kind = kind, .seq = seq});
}

void progress(Step& out, const Context& context) {
  const Attempt& attempt = out.attempt;
  if (attempt.pending) return;
  if (!domain::is_concluded(attempt.state)) {
    if (attempt.termination) {
      progress_termination(out, context);
    } else {
      progress_launch(out, context);
    }
  }
  // Giving up a launch concludes it, and then its ending begins here.
  if (!attempt.pending && domain::is_concluded(attempt.state)) progress_ending(out, context);
}

std::optional<domain::Instant> next_due(const Attempt& attempt) {
  if (attempt.pending) return std::nullopt;
  if (!domain::is_concluded(attempt.state)) {
    if (attempt.termination) {
      return attempt.cleanup_retry.tries > 0 ? std::optional(attempt.cleanup_retry.due) : std::nullopt;
    }
    // A launch that is over waits for nothing, whatever its last step had to try.
    const bool waits = attempt.launch_retry.tries > 0 && next_launch_step(attempt).has_value();
    return waits ? std::optional(attempt.launch_retry.due) : std::nullopt;
  }
  std::optional<domain::Instant> due;
  const auto consider = [&due](const domain::Retry& retry) {
    if (retry.tries == 0) return;
    if (!due || domain::elapsed(retry.due, *due).count() > 0) due = retry.due;
  };
  if (attempt.deregistration_owed) consider(attempt.deregistration_retry);
  if (attempt.state != State::cleaned) consider(attempt.cleanup_retry);
  return due;
}

}  // namespace agent::lifecycle
