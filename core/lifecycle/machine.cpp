#include "lifecycle/machine.hpp"

#include "domain/state.hpp"
#include "lifecycle/parts.hpp"

namespace agent::lifecycle {

using domain::Attempt;
using domain::EffectKind;

namespace {

// An answer counts only while its effect is the pending one.
bool answers_pending(const Attempt& attempt, const Event& event) {
  return attempt.pending && event.seq != 0 && attempt.pending->seq == event.seq;
}

// Of the answers that nobody waits for only a registration leaves something behind.
void compensate(Step& out, const Event& event) {
  if (const auto* registered = std::get_if<event::Registered>(&event.body)) owe(out, registered->runner);
}

void on_resumed(Step& out, const Context& context) {
  Attempt& attempt = out.attempt;
  // Launch effects died with the process that issued them, and no launch is resumed: what they left is found
  // by observation. Repeatable effects are issued anew by progress().
  if (attempt.pending && attempt.pending->kind == EffectKind::register_runner)
    attempt.unanswered_at = attempt.pending->issued_at;
  attempt.pending.reset();
  attempt.launch_retry = {};
  attempt.ahead = false;  // what waited did so in a process that is gone
  // A clock that was set back between two boots stretches this one look at it, and no timeout after that.
  attempt.changed_at = domain::rebased(attempt.changed_at, context.now);
  for (auto* moment : {&attempt.jit_requested_at, &attempt.unanswered_at}) {
    if (*moment) *moment = domain::rebased(**moment, context.now);
  }
  if (attempt.cleanup_retry.tries > 0) attempt.cleanup_retry.due = context.now;
  if (attempt.deregistration_retry.tries > 0) attempt.deregistration_retry.due = context.now;
}

void on_operator_stop(Step& out, const Context& context) {
  Attempt& attempt = out.attempt;
  if (domain::is_concluded(attempt.state)) return;
  if (attempt.termination && !domain::deregisters_first(attempt.termination->kind)) return;
  // An intent that a job may still withdraw gives way to one that it may not; and nothing waits any longer.
  attempt.cleanup_retry = {};
  attempt.termination =
      domain::Termination{domain::TerminationKind::by_operator, domain::TerminationStep::stop};
  const bool may_have_run = attempt.pending && (attempt.pending->kind == EffectKind::spawn_held ||
                                                attempt.pending->kind == EffectKind::release);
  // Nothing can run before a process is held, so a launch that has not come that far ends at once.
  if (in_bring_up(attempt) && !attempt.process && !may_have_run) {
    conclude(out, domain::termination_outcome(domain::TerminationKind::by_operator), context);
  }
}

// What is still being prepared goes on to its registration by itself.
void on_claimed(Step& out, const Context& context) {
  Attempt& attempt = out.attempt;
  if (!attempt.ahead || domain::is_concluded(attempt.state)) return;
  const bool waited = waits_for_job(attempt);
  attempt.ahead = false;
  attempt.times.demand_seen = context.now;
  if (waited) issue(out, EffectKind::register_runner, context.now);
}

void on_withdrawn(Step& out, const event::Withdrawn& withdrawn, const Context& context) {
  const Attempt& attempt = out.attempt;
  if (!in_bring_up(attempt) || attempt.jit_requested_at || attempt.termination) return;
  conclude(out, {.kind = domain::OutcomeKind::failed, .reason = withdrawn.reason}, context);
}

// What the machine could not prove the operator has. Nobody can say what became of a job.
void on_forgotten(Step& out, const Context& context) {
  Attempt& attempt = out.attempt;
  if (attempt.state == domain::State::cleaned || in_bring_up(attempt)) return;
  if (!domain::is_concluded(attempt.state)) {
    conclude(out, {.kind = domain::OutcomeKind::orphaned, .reason = std::nullopt}, context);
  }
  attempt.environment_removed = true;
  attempt.cleanup_retry = {};
}

}  // namespace

Step begin(Attempt attempt, const domain::Instant& now) {
  Step out;
  out.attempt = std::move(attempt);
  out.attempt.state = domain::State::allocated;
  out.attempt.changed_at = now;
  out.attempt.times.granted = now;
  issue(out, *next_launch_step(out.attempt), now);
  return out;
}

Step step(const Attempt& attempt, const Event& event, const Context& context) {
  Step out;
  out.attempt = attempt;
  if (event.seq != 0 && !answers_pending(attempt, event)) {
    compensate(out, event);
    progress(out, context);
    return out;
  }
  if (event.seq != 0) {
    const domain::Pending answered = *out.attempt.pending;
    out.attempt.pending.reset();
    answer(out, answered, event.body, context);
  } else if (const auto* observed = std::get_if<event::Observed>(&event.body)) {
    observe(out, *observed, context);
  } else if (std::holds_alternative<event::OperatorStop>(event.body)) {
    on_operator_stop(out, context);
  } else if (const auto* withdrawn = std::get_if<event::Withdrawn>(&event.body)) {
    on_withdrawn(out, *withdrawn, context);
  } else if (std::holds_alternative<event::Claimed>(event.body)) {
    on_claimed(out, context);
  } else if (std::holds_alternative<event::Resumed>(event.body)) {
    on_resumed(out, context);
  } else if (std::holds_alternative<event::Forgotten>(event.body)) {
    on_forgotten(out, context);
  }
  progress(out, context);
  return out;
}

}  // namespace agent::lifecycle
