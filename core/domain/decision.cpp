#include "domain/decision.hpp"

#include <utility>

#include "domain/state.hpp"

namespace agent::domain {
namespace {

// What one call works on, with the words of the rules as predicates.
struct Case {
  const Attempt& attempt;
  const Observation& seen;
  const Instant& now;

  [[nodiscard]] State state() const { return attempt.state; }
  [[nodiscard]] const Timeouts& timeouts() const { return attempt.policy.timeouts; }
  [[nodiscard]] bool isolated() const { return attempt.policy.provider_kind == ProviderKind::isolated; }
  [[nodiscard]] bool alive() const {
    return seen.environment == EnvironmentView::starting || seen.environment == EnvironmentView::running;
  }
  [[nodiscard]] bool dead() const { return !alive() && seen.environment != EnvironmentView::unknown; }
  [[nodiscard]] bool exits_cleanly_now() const {
    return seen.environment == EnvironmentView::exited && seen.clean;
  }
  // An exit that was journalled stays true when the record of it is gone.
  [[nodiscard]] bool exited_cleanly() const { return dead() && (attempt.clean_exit || exits_cleanly_now()); }
  [[nodiscard]] bool listed() const {
    return seen.github == GithubView::offline || seen.github == GithubView::idle ||
           seen.github == GithubView::busy;
  }
  [[nodiscard]] bool past(Millis timeout) const { return elapsed(attempt.changed_at, now) >= timeout; }
  [[nodiscard]] bool awaits_handoff() const {
    return state() == State::allocated || state() == State::jit_received;
  }
  // The listener's codes for "this version is updating or no longer accepted".
  [[nodiscard]] bool version_rejected() const {
    const std::optional<std::int64_t> code = seen.exit_code ? seen.exit_code : attempt.exit_code;
    return code && (*code == 3 || *code == 4 || *code == 7);
  }
};

Outcome failure(FailureReason reason) { return {OutcomeKind::failed, reason, false}; }
Outcome ended(OutcomeKind kind) { return {kind, std::nullopt, false}; }

// The states between here and the one from which the outcome may be concluded; none for an outcome that every
// live state allows.
std::vector<State> walk(State from, OutcomeKind outcome) {
  if (outcome != OutcomeKind::completed_job && outcome != OutcomeKind::exited_idle_without_work) return {};
  const State goal = outcome == OutcomeKind::completed_job ? State::busy : State::idle;
  if (from == goal) return {};
  std::vector<State> through;
  if (from == State::allocated) through.push_back(State::jit_received);
  if (from == State::allocated || from == State::jit_received) through.push_back(State::starting);
  through.push_back(goal);
  return through;
}

Conclude end_as(const Case& c, Outcome outcome, bool deregister_first = false) {
  outcome.out_of_memory = c.attempt.out_of_memory || c.seen.out_of_memory;
  return {walk(c.state(), outcome.kind), outcome, deregister_first, wants_replacement(outcome)};
}

using Answer = std::optional<Decision>;

Answer facts_first(const Case& c) {
  if (!c.attempt.runner && c.seen.listed_runner) return RecordRunner{*c.seen.listed_runner};
  return std::nullopt;
}

// A process beside a native attempt that was never given a registration is not provably its own.
Answer unknown_environment(const Case& c) {
  const bool unprovable = !c.isolated() && c.state() == State::allocated && c.alive();
  if (c.seen.environment == EnvironmentView::unknown || unprovable) return Defer{};
  return std::nullopt;
}

Answer interrupted_preparation(const Case& c) {
  const bool preparing =
      c.state() == State::allocated || c.state() == State::preparing || c.state() == State::prepared;
  if (!c.isolated() || !preparing) return std::nullopt;
  const auto& intent = c.attempt.termination;
  if (intent && intent->kind == TerminationKind::by_operator) {
    return end_as(c, termination_outcome(intent->kind));
  }
  return end_as(c, failure(FailureReason::preparation_interrupted));
}

// A clean exit that was journalled counts as an exit here even if its record is gone by now.
Answer started_before_it_was_journalled(const Case& c) {
  const bool ran = c.alive() || c.seen.environment == EnvironmentView::exited || c.exited_cleanly();
  if (c.state() == State::jit_received && ran) return MoveTo{State::starting};
  return std::nullopt;
}

Answer journalled_intent(const Case& c) {
  if (!c.attempt.termination) return std::nullopt;
  const TerminationKind kind = c.attempt.termination->kind;
  const bool took_a_job = c.seen.github == GithubView::busy || c.seen.evidence == Evidence::ran;
  if (deregisters_first(kind) && took_a_job) return WithdrawTermination{};
  if (c.dead()) return end_as(c, termination_outcome(kind));
  return ResumeTermination{};
}

Answer clean_exit_evidence(const Case& c) {
  if (!c.exited_cleanly() || c.seen.github == GithubView::unreachable) return std::nullopt;
  const Evidence evidence = c.seen.evidence;
  const Outcome completed = ended(OutcomeKind::completed_job);
  if (c.state() == State::starting || c.state() == State::idle) {
    if (evidence == Evidence::ran && c.attempt.runner) return end_as(c, completed, c.listed());
  } else if (c.state() == State::busy) {
    if (evidence == Evidence::ran) return end_as(c, completed, c.listed());
    if (evidence == Evidence::no_job) {
      return end_as(c, ended(OutcomeKind::exited_idle_without_work), c.listed());
    }
    if (c.seen.github == GithubView::absent) return end_as(c, completed);
  }
  return std::nullopt;
}

Answer assignment_never_taken_up(const Case& c) {
  if (c.alive() && c.state() == State::busy && c.seen.github == GithubView::idle &&
      c.seen.evidence == Evidence::no_job) {
    return MoveTo{State::idle};
  }
  return std::nullopt;
}

Answer secret_lost(const Case& c) {
  const bool registered = c.seen.github == GithubView::offline || c.seen.github == GithubView::idle;
  if (c.awaits_handoff() && c.dead() && registered) {
    return end_as(c, failure(FailureReason::jit_expired), true);
  }
  return std::nullopt;
}

Decision table_concluded(const Case& c) {
  if (c.seen.environment == EnvironmentView::unknown) return Wait{};
  if (!c.isolated() && c.alive()) return Stop{};
  return Clean{};
}

Decision table_awaiting_handoff(const Case& c) {
  // Alive is answered by the rules before; nothing to conclude if it ever comes here.
  if (!c.dead()) return Defer{};
  if (c.seen.github == GithubView::busy) return end_as(c, ended(OutcomeKind::orphaned));
  if (!c.past(c.timeouts().jit_handoff)) return Wait{};
  return end_as(c, failure(c.state() == State::allocated ? FailureReason::jit_request_failed
                                                         : FailureReason::jit_expired));
}

// A worker's log outweighs a timeout: the runner took a job that GitHub's sample does not show. Journalling
// it as busy keeps it alive, lets a job timeout apply, and asks for no intent that would be withdrawn at
// once.
Decision terminate_unless_it_ran(const Case& c, TerminationKind kind) {
  if (c.seen.evidence == Evidence::ran) return MoveTo{State::busy};
  return Terminate{kind};
}

Decision table_starting(const Case& c) {
  if (c.seen.github == GithubView::busy) return MoveTo{State::busy};
  if (c.seen.github == GithubView::idle) return MoveTo{State::idle};
  if (c.dead()) {
    return end_as(c, failure(c.version_rejected() ? FailureReason::runner_version_rejected
                                                  : FailureReason::process_exited_unexpectedly));
  }
  if (!c.past(c.timeouts().startup)) return Adopt{};
  return terminate_unless_it_ran(c, TerminationKind::registration_timeout);
}

Decision table_idle(const Case& c) {
  if (c.seen.github == GithubView::busy) return MoveTo{State::busy};
  const bool timed_out = c.past(c.timeouts().idle);
  if (c.dead()) {
    if (c.version_rejected()) return end_as(c, failure(FailureReason::runner_version_rejected));
    if (c.seen.github == GithubView::idle) return end_as(c, ended(OutcomeKind::orphaned));
    if (timed_out) return end_as(c, ended(OutcomeKind::exited_idle_without_work));
    return end_as(c, failure(FailureReason::process_exited_unexpectedly));
  }
  if (!timed_out) return Adopt{};
  // A runner that GitHub no longer lists can be given no job, so it is not part of the policy's minimum.
  if (c.seen.github == GithubView::absent) return terminate_unless_it_ran(c, TerminationKind::idle_timeout);
  if (c.seen.surplus_allowed) return terminate_unless_it_ran(c, TerminationKind::surplus);
  return Adopt{};
}

Decision table_busy(const Case& c) {
  if (c.dead()) return end_as(c, ended(OutcomeKind::orphaned));
  const Millis limit = c.timeouts().job;
  if (limit > Millis{0} && c.past(limit)) return Terminate{TerminationKind::job_timeout};
  return Adopt{};
}

Decision table_live(const Case& c) {
  if (c.seen.github == GithubView::unreachable) return Defer{};
  switch (c.state()) {
    case State::allocated:
    case State::jit_received: return table_awaiting_handoff(c);
    case State::starting: return table_starting(c);
    case State::idle: return table_idle(c);
    case State::busy: return table_busy(c);
    default: return Defer{};  // a native attempt is never in one of the others
  }
}

// It was prepared ahead and waits for a job: nothing but its own sandbox can be lost.
bool lost_while_it_waited(const Case& c) {
  const bool gone =
      c.seen.environment == EnvironmentView::exited || c.seen.environment == EnvironmentView::missing;
  return c.attempt.ahead && c.state() == State::prepared && gone;
}

// A launch of this process owns the attempt. Only an operator ends it, and then nothing but the intent
// counts: the launch reports its own progress.
Decision owned_by_bring_up(const Case& c) {
  const auto& intent = c.attempt.termination;
  if (!intent && lost_while_it_waited(c)) return end_as(c, failure(FailureReason::preparation_interrupted));
  if (!is_live(c.state()) || !intent || intent->kind != TerminationKind::by_operator) return Nothing{};
  if (Answer answer = facts_first(c)) return *answer;
  if (Answer answer = unknown_environment(c)) return *answer;
  return journalled_intent(c).value_or(Nothing{});
}

}  // namespace

Decision decide(const Attempt& attempt, const Observation& seen, const Instant& now) {
  const Case c{attempt, seen, now};
  if (c.state() == State::cleaned) return Nothing{};
  if (seen.bring_up_here) return owned_by_bring_up(c);
  if (Answer answer = facts_first(c)) return *answer;
  if (!is_live(c.state())) return table_concluded(c);
  if (c.exits_cleanly_now() && !attempt.clean_exit) return RecordCleanExit{};

  constexpr Answer (*kRules[])(const Case&) = {
      unknown_environment, interrupted_preparation, started_before_it_was_journalled,
      journalled_intent,   clean_exit_evidence,     assignment_never_taken_up,
      secret_lost,
  };
  for (const auto rule : kRules) {
    if (Answer answer = rule(c)) return *answer;
  }
  return table_live(c);
}

Outcome termination_outcome(TerminationKind kind) {
  switch (kind) {
    case TerminationKind::surplus:
    case TerminationKind::idle_timeout: return ended(OutcomeKind::exited_idle_without_work);
    case TerminationKind::registration_timeout:
      return failure(FailureReason::terminated_after_registration_timeout);
    case TerminationKind::job_timeout: return failure(FailureReason::job_timed_out);
    case TerminationKind::by_operator: return failure(FailureReason::terminated_by_operator);
  }
  return failure(FailureReason::other);
}

bool deregisters_first(TerminationKind kind) {
  return kind == TerminationKind::surplus || kind == TerminationKind::idle_timeout ||
         kind == TerminationKind::registration_timeout;
}

bool wants_replacement(const Outcome& outcome) {
  if (outcome.kind != OutcomeKind::failed || !outcome.reason) return false;
  switch (*outcome.reason) {
    case FailureReason::jit_expired:
    case FailureReason::process_exited_unexpectedly:
    case FailureReason::runner_version_rejected:
    case FailureReason::terminated_after_registration_timeout: return true;
    default: return false;
  }
}

}  // namespace agent::domain
