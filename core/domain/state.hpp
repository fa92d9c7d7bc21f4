// The legal edges of an attempt and what its states mean for capacity, slots and liveness.
#pragma once

#include "domain/attempt.hpp"

namespace agent::domain {

bool legal_edge(ProviderKind kind, State from, State to);

// Moves the attempt along one legal edge and restarts its clock. An illegal edge names both states and
// changes nothing.
Result<void> transition(Attempt& attempt, State to, const Instant& now);

bool is_live(State state);                  // not concluded
bool is_concluded(State state);             // finished, failed, orphaned and what follows, cleaned included
State terminal_state(OutcomeKind outcome);  // finished, failed or orphaned
bool counts_against_host(ProviderKind kind, State state);
bool holds_slot(WorkspaceKind workspace, State state);

// completed_job from busy only, exited_idle_without_work from idle only, failed and orphaned from every live
// state.
Result<void> conclude(Attempt& attempt, Outcome outcome, const Instant& now);

}  // namespace agent::domain
