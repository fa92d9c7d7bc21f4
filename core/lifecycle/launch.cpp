// The launch: package, copy, preparation, registration, held process, release.
#include "domain/backoff.hpp"
#include "domain/state.hpp"
#include "lifecycle/parts.hpp"

namespace agent::lifecycle {

using domain::Attempt;
using domain::EffectKind;
using domain::ErrorCode;
using domain::FailureReason;
using domain::State;

namespace {

struct Verdict {
  FailureReason reason;
  bool terminal = false;  // never tried again, and the policy is held
};

Verdict judge_package(ErrorCode code) {
  switch (code) {
    case ErrorCode::denied:
    case ErrorCode::invalid: return {FailureReason::runner_package_unverified, true};
    case ErrorCode::not_found:
    case ErrorCode::unsupported: return {FailureReason::package_unavailable, true};
    default: return {FailureReason::package_unavailable, false};
  }
}

Verdict judge_registration(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
    case ErrorCode::invalid:
    case ErrorCode::denied:
    case ErrorCode::unsupported: return {FailureReason::jit_refused, true};
    default: return {FailureReason::jit_request_failed, false};
  }
}

// GitHub answered, and the answer was no.
bool says_no(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
    case ErrorCode::invalid:
    case ErrorCode::denied:
    case ErrorCode::unauthorized:
    case ErrorCode::unsupported:
    case ErrorCode::exists:
    case ErrorCode::retry: return true;
    default: return false;
  }
}

// What an isolated provider says in free text is not kept: its code decides.
Verdict judge_isolation(ErrorCode code) {
  switch (code) {
    case ErrorCode::unsupported: return {FailureReason::isolation_unsupported, true};
    case ErrorCode::denied: return {FailureReason::isolation_permission_denied, true};
    case ErrorCode::not_found: return {FailureReason::isolation_image_unavailable, true};
    case ErrorCode::invalid: return {FailureReason::isolation_unsafe_runtime_path, true};
    case ErrorCode::exists: return {FailureReason::isolation_ownership_mismatch, false};
    case ErrorCode::full: return {FailureReason::isolation_disk_quota_unavailable, false};
    default: return {FailureReason::isolation_runtime_operation_failed, false};
  }
}

// What a failure of each launch step means, by its code and by what was refused.
Verdict judge(const Attempt& attempt, EffectKind kind, const event::Failed& failure) {
  const ErrorCode code = failure.code;
  if (kind == EffectKind::materialize && failure.slot) return {FailureReason::slot_refused, true};
  if (is_isolated(attempt) && kind == EffectKind::prepare) return judge_isolation(code);
  const bool hopeless =
      code == ErrorCode::invalid || code == ErrorCode::denied || code == ErrorCode::unsupported;
  switch (kind) {
    case EffectKind::acquire_package: return judge_package(code);
    case EffectKind::materialize:
      if (code == ErrorCode::denied || code == ErrorCode::exists) return {FailureReason::root_refused, true};
      return {FailureReason::package_unavailable, false};
    case EffectKind::register_runner: return judge_registration(code);
    default: return {FailureReason::process_start_failed, hopeless};
  }
}

void fail_step(Step& out, EffectKind kind, const event::Failed& failure, const Context& context) {
  Attempt& attempt = out.attempt;
  const Verdict verdict = judge(attempt, kind, failure);
  const bool once = is_isolated(attempt) && kind == EffectKind::prepare;
  const bool again = !verdict.terminal && !once && attempt.launch_retry.tries + 1 < domain::kLaunchTries &&
                     context.demand_persists && context.launching_allowed;
  if (again) {
    const domain::Millis wait = domain::launch_wait(attempt.launch_retry.tries + 1, failure.retry_after);
    attempt.launch_retry = domain::next_retry(attempt.launch_retry, wait, context.now);
    return;
  }
  out.refused_for_good = verdict.terminal;
  conclude(out, {.kind = domain::OutcomeKind::failed, .reason = verdict.reason}, context);
}

void enter(Step& out, State state, const Context& context) {
  // The launch's own edges are legal by construction; a refused one would leave the row as it was.
  if (domain::transition(out.attempt, state, context.now)) out.attempt.launch_retry = {};
}

// The listener may be alive and nobody knows. The secret is spent either way, so supervision takes over from
// the identity that the row holds and concludes by what it sees.
void fail_release(Step& out, const event::Failed& failure, const Context& context) {
  if (!failure.process_existed) {
    const auto reason = is_isolated(out.attempt) ? FailureReason::isolation_jit_handoff_rejected
                                                 : FailureReason::process_start_failed;
    conclude(out, {.kind = domain::OutcomeKind::failed, .reason = reason}, context);
    return;
  }
  enter(out, State::starting, context);
  out.drop_secret = true;
  out.observe_soon = true;
}

// A sandbox without a name of its own could not be told from another one.
void on_prepared(Step& out, const event::Prepared& prepared, const Context& context) {
  Attempt& attempt = out.attempt;
  if (is_isolated(attempt) && !prepared.environment) {
    fail_step(out, EffectKind::prepare,
              {.code = ErrorCode::bad_response, .retry_after = {}, .process_existed = false}, context);
    return;
  }
  if (prepared.environment) attempt.environment = prepared.environment;
  attempt.times.prepared = context.now;
  attempt.launch_retry = {};
  if (is_isolated(attempt)) enter(out, State::prepared, context);
  if (!waits_for_job(attempt)) issue(out, EffectKind::register_runner, context.now);
}

}  // namespace

std::optional<EffectKind> next_launch_step(const Attempt& attempt) {
  if (attempt.state == State::allocated) {
    if (!attempt.package && !attempt.package_inside) return EffectKind::acquire_package;
    if (!attempt.times.materialized) return EffectKind::materialize;
    if (!attempt.times.prepared) return EffectKind::prepare;
    return EffectKind::register_runner;
  }
  if (attempt.state == State::preparing) return EffectKind::prepare;
  if (attempt.state == State::prepared) return EffectKind::register_runner;
  if (attempt.state == State::jit_received) {
    // A sandbox takes the secret with its start; there is no held process.
    const bool held = attempt.process || is_isolated(attempt);
    return held ? EffectKind::release : EffectKind::spawn_held;
  }
  return std::nullopt;
}

bool awaits_handoff(State state) {
  return state == State::allocated || state == State::preparing || state == State::prepared ||
         state == State::jit_received;
}

bool is_launch_effect(EffectKind kind) {
  switch (kind) {
    case EffectKind::acquire_package:
    case EffectKind::materialize:
    case EffectKind::prepare:
    case EffectKind::register_runner:
    case EffectKind::spawn_held:
    case EffectKind::release: return true;
    default: return false;
  }
}

bool waits_for_job(const Attempt& attempt) { return attempt.ahead && attempt.state == State::prepared; }

bool in_bring_up(const Attempt& attempt) {
  if (domain::is_concluded(attempt.state)) return false;
  if (waits_for_job(attempt)) return true;
  if (attempt.pending && is_launch_effect(attempt.pending->kind)) return true;
  return awaits_handoff(attempt.state) && attempt.launch_retry.tries > 0;
}

void note_unanswered(Attempt& attempt, const domain::Pending& answered, const EventBody& body) {
  const auto* failed = std::get_if<event::Failed>(&body);
  if (failed == nullptr || answered.kind != EffectKind::register_runner || says_no(failed->code)) return;
  attempt.unanswered_at = answered.issued_at;
}

void answer_launch(Step& out, EffectKind kind, const EventBody& body, const Context& context) {
  Attempt& attempt = out.attempt;
  if (const auto* failed = std::get_if<event::Failed>(&body)) {
    if (kind == EffectKind::release) {
      fail_release(out, *failed, context);
    } else {
      fail_step(out, kind, *failed, context);
    }
    return;
  }
  if (const auto* acquired = std::get_if<event::Acquired>(&body)) {
    attempt.package = acquired->digest;
    attempt.times.package_acquired = context.now;
    attempt.launch_retry = {};
    issue(out, EffectKind::materialize, context.now);
  } else if (std::holds_alternative<event::Materialized>(body)) {
    attempt.times.materialized = context.now;
    attempt.launch_retry = {};
    if (is_isolated(attempt)) enter(out, State::preparing, context);
    issue(out, EffectKind::prepare, context.now);
  } else if (const auto* prepared = std::get_if<event::Prepared>(&body)) {
    on_prepared(out, *prepared, context);
  } else if (const auto* registered = std::get_if<event::Registered>(&body)) {
    attempt.runner = registered->runner;
    attempt.absence_observed = false;
    attempt.times.registered = context.now;
    enter(out, State::jit_received, context);
    issue(out, *next_launch_step(attempt), context.now);
  } else if (const auto* held = std::get_if<event::Held>(&body)) {
    attempt.process = held->process;
    attempt.times.held = context.now;
    if (attempt.termination) return;  // the operator was faster: progress() ends what is held
    issue(out, EffectKind::release, context.now);
  } else if (std::holds_alternative<event::Started>(body)) {
    attempt.times.started = context.now;
    enter(out, State::starting, context);
  }
}

}  // namespace agent::lifecycle
