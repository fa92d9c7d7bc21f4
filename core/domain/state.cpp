#include "domain/state.hpp"

#include <string>

namespace agent::domain {
namespace {

bool legal_live_edge(ProviderKind kind, State from, State to) {
  const bool native = kind == ProviderKind::native;
  switch (from) {
    case State::allocated: return to == (native ? State::jit_received : State::preparing);
    case State::preparing: return to == State::prepared;
    case State::prepared: return to == State::jit_received;
    case State::jit_received: return to == State::starting;
    case State::starting: return to == State::idle || to == State::busy;
    case State::idle: return to == State::busy || to == State::finished;
    case State::busy: return to == State::idle || to == State::finished;
    default: return false;
  }
}

// preparing and prepared, destroying and cleanup_deferred exist for isolated providers only.
bool exists_for(ProviderKind kind, State state) {
  if (kind == ProviderKind::isolated) return true;
  return state != State::preparing && state != State::prepared && state != State::destroying &&
         state != State::cleanup_deferred;
}

Error refused(std::string message) { return {ErrorCode::invalid, std::move(message), {}}; }

}  // namespace

bool is_live(State state) {
  switch (state) {
    case State::allocated:
    case State::preparing:
    case State::prepared:
    case State::jit_received:
    case State::starting:
    case State::idle:
    case State::busy: return true;
    case State::finished:
    case State::failed:
    case State::orphaned:
    case State::destroying:
    case State::cleanup_deferred:
    case State::cleaned: return false;
  }
  return false;
}

bool is_concluded(State state) { return !is_live(state); }

bool legal_edge(ProviderKind kind, State from, State to) {
  if (!exists_for(kind, from) || !exists_for(kind, to)) return false;
  if (is_live(from)) return to == State::failed || to == State::orphaned || legal_live_edge(kind, from, to);
  switch (from) {
    case State::finished:
    case State::failed:
    case State::orphaned: return to == (kind == ProviderKind::native ? State::cleaned : State::destroying);
    case State::destroying: return to == State::cleaned || to == State::cleanup_deferred;
    case State::cleanup_deferred: return to == State::destroying;
    default: return false;
  }
}

Result<void> transition(Attempt& attempt, State to, const Instant& now) {
  const ProviderKind kind = attempt.policy.provider_kind;
  if (!legal_edge(kind, attempt.state, to)) {
    return refused("attempt " + attempt.id.str() + " cannot go from " +
                   std::string{to_string(attempt.state)} + " to " + std::string{to_string(to)} +
                   " with a provider that is " + std::string{to_string(kind)} + "; nothing was changed");
  }
  attempt.state = to;
  attempt.changed_at = now;
  return {};
}

State terminal_state(OutcomeKind outcome) {
  switch (outcome) {
    case OutcomeKind::completed_job:
    case OutcomeKind::exited_idle_without_work: return State::finished;
    case OutcomeKind::failed: return State::failed;
    case OutcomeKind::orphaned: return State::orphaned;
  }
  return State::failed;
}

bool counts_against_host(ProviderKind kind, State state) {
  // A sandbox may exist, and use the host, until its absence is proven.
  return kind == ProviderKind::isolated ? state != State::cleaned : is_live(state);
}

bool holds_slot(WorkspaceKind workspace, State state) {
  return workspace == WorkspaceKind::persistent && state != State::cleaned;
}

Result<void> conclude(Attempt& attempt, Outcome outcome, const Instant& now) {
  const auto says = [&](const std::string& why) {
    return refused("attempt " + attempt.id.str() + " in state " + std::string{to_string(attempt.state)} +
                   " cannot end as " + std::string{to_string(outcome.kind)} + ": " + why +
                   "; nothing was changed");
  };
  if (outcome.kind == OutcomeKind::completed_job && attempt.state != State::busy) {
    return says("only a busy runner completes a job");
  }
  if (outcome.kind == OutcomeKind::exited_idle_without_work && attempt.state != State::idle) {
    return says("only an idle runner exits without work");
  }
  if ((outcome.kind == OutcomeKind::failed) != outcome.reason.has_value()) {
    return says("a failure has a reason and nothing else has one");
  }
  if (Result<void> moved = transition(attempt, terminal_state(outcome.kind), now); !moved.ok()) return moved;
  attempt.outcome = outcome;
  return {};
}

}  // namespace agent::domain
