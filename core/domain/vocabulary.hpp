// The closed vocabularies that journal, logs, status and command line share: one spelling each.
#pragma once

#include <optional>
#include <string_view>

#include "domain/result.hpp"

namespace agent::domain {

enum class State {
  allocated,
  preparing,
  prepared,
  jit_received,
  starting,
  idle,
  busy,
  finished,
  failed,
  orphaned,
  destroying,
  cleanup_deferred,
  cleaned,
};

enum class OutcomeKind { completed_job, exited_idle_without_work, failed, orphaned };

enum class FailureReason {
  jit_request_failed,
  jit_expired,
  jit_refused,
  runner_package_unverified,
  runner_version_rejected,
  package_unavailable,
  process_start_failed,
  process_exited_unexpectedly,
  terminated_after_registration_timeout,
  terminated_by_operator,
  job_timed_out,
  preparation_interrupted,
  isolation_unsupported,
  isolation_not_installed,
  isolation_permission_denied,
  isolation_image_unavailable,
  isolation_disk_quota_unavailable,
  isolation_degraded,
  isolation_runtime_operation_failed,
  isolation_ownership_mismatch,
  isolation_unsafe_runtime_path,
  isolation_jit_handoff_rejected,
  workspace_cleanup_deferred,
  root_refused,
  slot_refused,
  no_free_slot,
  other,
};

enum class ProviderKind { native, isolated };
enum class WorkspaceKind { ephemeral, persistent };
enum class PolicyState { active, paused, draining };

// Why a termination was decided. The first three deregister before they stop. surplus respects the policy's
// minimum; idle_timeout ends an idle runner that GitHub no longer lists, which no job can reach.
enum class TerminationKind { surplus, idle_timeout, registration_timeout, job_timeout, by_operator };
enum class TerminationStep { deregister, stop };

// The changing effects of which an attempt has at most one at a time.
enum class EffectKind {
  acquire_package,
  materialize,
  prepare,
  register_runner,
  spawn_held,
  release,
  stop,
  destroy,
  deregister,
  scrub,
};

// Why no more runners are started for a policy; "nothing is starting" must have an answer.
enum class LimitingFactor {
  none,
  demand,
  policy_maximum,
  host_capacity,
  target_cap,
  paused,
  draining,
  provider_not_ready,
  gateway_unreachable,
  credential_rejected,
  rate_limited,
  package_not_ready,
  held_after_refusal,
  recovering,
  disk_full,
  root_refused,
  no_free_slot,
  journal_unreadable,
  policy_minimum,  // nothing more is asked for than the policy's own minimum
};

// How the journal fares, as status shows it. A message beside it says what was seen and what to do.
enum class JournalState {
  ready,
  full,           // its disk is, or was until the reserve is back in its place; nothing new is started
  damaged,        // nothing is written any more
  other_version,  // its schema is another version's
  denied,         // a read-only filesystem, a wrong owner, or another machine's
  in_use,         // another process holds it
  absent,         // the daemon never started here
  failing,        // anything else; tried again
};
// What a journal that answers with this is called.
JournalState journal_state(ErrorCode code);

std::string_view to_string(State);
std::string_view to_string(OutcomeKind);
std::string_view to_string(FailureReason);
std::string_view to_string(ProviderKind);
std::string_view to_string(WorkspaceKind);
std::string_view to_string(PolicyState);
std::string_view to_string(TerminationKind);
std::string_view to_string(TerminationStep);
std::string_view to_string(EffectKind);
std::string_view to_string(LimitingFactor);
std::string_view to_string(JournalState);

// parse<T>(to_string(x)) == x for each; nothing for any other text.
template <class T>
std::optional<T> parse(std::string_view text) = delete;
template <>
std::optional<State> parse<State>(std::string_view);
template <>
std::optional<OutcomeKind> parse<OutcomeKind>(std::string_view);
template <>
std::optional<FailureReason> parse<FailureReason>(std::string_view);
template <>
std::optional<ProviderKind> parse<ProviderKind>(std::string_view);
template <>
std::optional<WorkspaceKind> parse<WorkspaceKind>(std::string_view);
template <>
std::optional<PolicyState> parse<PolicyState>(std::string_view);
template <>
std::optional<TerminationKind> parse<TerminationKind>(std::string_view);
template <>
std::optional<TerminationStep> parse<TerminationStep>(std::string_view);
template <>
std::optional<EffectKind> parse<EffectKind>(std::string_view);
template <>
std::optional<LimitingFactor> parse<LimitingFactor>(std::string_view);

}  // namespace agent::domain
