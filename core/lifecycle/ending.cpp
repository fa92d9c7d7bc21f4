// The end: termination of a live runner, and everything that a concluded attempt still owes.
#include <algorithm>

#include "domain/backoff.hpp"
#include "domain/state.hpp"
#include "lifecycle/parts.hpp"

namespace agent::lifecycle {

using domain::Attempt;
using domain::EffectKind;
using domain::State;
using domain::TerminationStep;

namespace {

void retry_deregistration(Attempt& attempt, domain::Millis asked, const Context& context) {
  domain::Millis wait = domain::cleanup_wait(attempt.deregistration_retry.tries + 1);
  if (asked > wait) wait = asked < domain::kMaximumWait ? asked : domain::kMaximumWait;
  attempt.deregistration_retry = domain::next_retry(attempt.deregistration_retry, wait, context.now);
}

bool launch_looks_first(const Attempt& attempt) {
  return !domain::is_concluded(attempt.state) && !attempt.termination &&
         next_launch_step(attempt) == EffectKind::register_runner;
}

// GitHub says that a job runs under our registration.
void registration_busy(Step& out, const Context& context) {
  Attempt& attempt = out.attempt;
  if (launch_looks_first(attempt)) {
    // The name stays taken for as long as that job takes, so this launch cannot go on.
    conclude(out, {.kind = domain::OutcomeKind::failed, .reason = domain::FailureReason::jit_request_failed},
             context);
  } else if (!domain::is_concluded(attempt.state) && attempt.termination &&
             domain::deregisters_first(attempt.termination->kind)) {
    // A job came at the last moment: keep the runner. The next look shows it; where a listing goes on to say
    // otherwise, GitHub is asked again less and less often.
    attempt.termination.reset();
    retry_cleanup(attempt, context.now);
    out.observe_soon = true;
  } else {
    retry_deregistration(attempt, domain::Millis{0}, context);
  }
}

void on_deregistered(Step& out, const event::Deregistered& answered, const domain::Instant& began,
                     const Context& context) {
  Attempt& attempt = out.attempt;
  const bool live = !domain::is_concluded(attempt.state);
  // The name of a registration that was removed is never this attempt's runner again, so its id is not
  // recorded.
  if (answered.found && answered.found != attempt.runner) {
    const bool recorded = answered.removal == event::Removal::busy && !attempt.runner && !live;
    if (recorded) attempt.runner = answered.found;
    if (recorded || answered.removal == event::Removal::gone) settle_unanswered(attempt);
  }
  if (answered.removal == event::Removal::busy) {
    registration_busy(out, context);
  } else if (launch_looks_first(attempt)) {
    issue(out, EffectKind::register_runner, context.now);
  } else {
    if (absence_proves(attempt, began)) attempt.absence_observed = true;
    if (live && attempt.termination) {
      attempt.termination->step = TerminationStep::stop;
      attempt.cleanup_retry = {};
    } else if (attempt.absence_observed) {
      attempt.deregistration_owed = false;
      attempt.deregistration_retry = {};
    } else {
      retry_deregistration(attempt, domain::Millis{0}, context);
    }
  }
}

void on_failed(Step& out, EffectKind kind, const event::Failed& failed, const Context& context) {
  Attempt& attempt = out.attempt;
  if (kind != EffectKind::deregister) {
    retry_cleanup(attempt, context.now, failed.retry_after);
    return;
  }
  const bool live = !domain::is_concluded(attempt.state);
  if (launch_looks_first(attempt)) {
    const bool again = attempt.launch_retry.tries < domain::kLaunchTries && context.demand_persists &&
                       context.launching_allowed;
    if (again) {
      const auto wait = domain::launch_wait(attempt.launch_retry.tries + 1, failed.retry_after);
      attempt.launch_retry = domain::next_retry(attempt.launch_retry, wait, context.now);
      return;
    }
    conclude(out, {.kind = domain::OutcomeKind::failed, .reason = domain::FailureReason::jit_request_failed},
             context);
    return;
  }
  retry_deregistration(attempt, failed.retry_after, context);
  if (live) attempt.cleanup_retry = attempt.deregistration_retry;  // the termination waits for GitHub
}

}  // namespace

bool absence_proves(const Attempt& attempt, const domain::Instant& listing_began) {
  return !attempt.unanswered_at || domain::elapsed(*attempt.unanswered_at, listing_began) >=
                                       kRegistrationWait + kRegistrationDeadline + kAbsenceByName;
}

void settle_unanswered(Attempt& attempt) {
  if (attempt.jit_requests == 1) attempt.unanswered_at.reset();
}

void owe(Step& out, domain::RunnerId runner) {
  Attempt& attempt = out.attempt;
  attempt.absence_observed = false;
  if (attempt.runner && attempt.runner != runner) {
    // Two registrations, one after the other, had this name. The id that is known removes only one of them,
    // so the name is looked up before the debt is paid.
    if (!attempt.unanswered_at) attempt.unanswered_at = attempt.jit_requested_at;
  } else if (!attempt.runner) {
    settle_unanswered(attempt);  // otherwise the same answer came twice
  }
  // A launch that is still trying removes what bears its name before it asks again, and its runner will have
  // another id.
  if (!domain::is_concluded(attempt.state)) return;
  if (!attempt.runner) attempt.runner = runner;
  attempt.deregistration_owed = true;
  attempt.deregistration_retry = {};
  out.drop_secret = true;
}

void retry_cleanup(Attempt& attempt, const domain::Instant& now, domain::Millis asked) {
  if (attempt.state == State::destroying) (void)domain::transition(attempt, State::cleanup_deferred, now);
  const domain::Millis wait = asked > domain::Millis{0}
                                  ? std::clamp(asked, domain::kMinimumCleanupWait, domain::kMaximumWait)
                                  : domain::cleanup_wait(attempt.cleanup_retry.tries + 1);
  attempt.cleanup_retry = domain::next_retry(attempt.cleanup_retry, wait, now);
}

void conclude(Step& out, const domain::Outcome& outcome, const Context& context) {
  Attempt& attempt = out.attempt;
  if (!domain::conclude(attempt, outcome, context.now)) return;
  attempt.launch_retry = {};
  attempt.cleanup_retry = {};
  attempt.deregistration_owed = attempt.jit_requested_at && !attempt.absence_observed;
  attempt.deregistration_retry = {};
  out.drop_secret = true;
}

void answer_ending(Step& out, const domain::Pending& answered, const EventBody& body,
                   const Context& context) {
  Attempt& attempt = out.attempt;
  if (const auto* failed = std::get_if<event::Failed>(&body)) {
    on_failed(out, answered.kind, *failed, context);
  } else if (const auto* deregistered = std::get_if<event::Deregistered>(&body)) {
    on_deregistered(out, *deregistered, answered.issued_at, context);
  } else if (std::holds_alternative<event::Stopped>(body)) {
    attempt.cleanup_retry = {};
    if (attempt.termination && !domain::is_concluded(attempt.state)) {
      conclude(out, domain::termination_outcome(attempt.termination->kind), context);
      attempt.replacement_wanted = attempt.outcome && domain::wants_replacement(*attempt.outcome);
    }
  } else if (const auto* found = std::get_if<event::SandboxFound>(&body)) {
    // On record before it is touched; the next step destroys it.
    if (!attempt.environment) attempt.environment = found->environment;
  } else if (std::holds_alternative<event::Destroyed>(body)) {
    attempt.environment_removed = true;
    attempt.cleanup_retry = {};
  } else if (std::holds_alternative<event::Scrubbed>(body)) {
    attempt.cleanup_retry = {};
    // Legal by construction: scrubbing is ordered for concluded attempts only.
    (void)domain::transition(attempt, State::cleaned, context.now);
    const bool may_come_back = attempt.policy.provider_kind == domain::ProviderKind::native &&
                               attempt.policy.workspace == domain::WorkspaceKind::ephemeral;
    if (may_come_back) attempt.residue_until = domain::after(context.now, kResidueWatch);
  }
}

void answer(Step& out, const domain::Pending& answered, const EventBody& body, const Context& context) {
  const EffectKind kind = answered.kind;
  note_unanswered(out.attempt, answered, body);
  // A launch answer that arrives after the conclusion is an ending's business.
  if (is_launch_effect(kind) && domain::is_concluded(out.attempt.state)) {
    Attempt& attempt = out.attempt;
    if (const auto* registered = std::get_if<event::Registered>(&body)) {
      owe(out, registered->runner);
    } else if (const auto* held = std::get_if<event::Held>(&body)) {
      if (!attempt.process) attempt.process = held->process;
    } else if (const auto* acquired = std::get_if<event::Acquired>(&body)) {
      if (!attempt.package) attempt.package = acquired->digest;
    } else if (const auto* prepared = std::get_if<event::Prepared>(&body)) {
      if (!attempt.environment && prepared->environment) attempt.environment = prepared->environment;
    }
    return;
  }
  if (is_launch_effect(kind)) {
    answer_launch(out, kind, body, context);
  } else {
    answer_ending(out, answered, body, context);
  }
}

}  // namespace agent::lifecycle
