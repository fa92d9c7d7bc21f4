#include "domain/vocabulary.hpp"

#include <array>
#include <cstddef>

namespace agent::domain {
namespace {

// Position is value: words[i] is the spelling of the enumerator with the number i. The size is checked
// against the last enumerator, so that a word forgotten here does not compile.
template <class T, T last>
using Words = std::array<std::string_view, static_cast<std::size_t>(last) + 1>;

constexpr Words<State, State::cleaned> kStates{
    "allocated", "preparing", "prepared", "jit_received", "starting",         "idle",   "busy",
    "finished",  "failed",    "orphaned", "destroying",   "cleanup_deferred", "cleaned"};

constexpr Words<OutcomeKind, OutcomeKind::orphaned> kOutcomes{"completed_job", "exited_idle_without_work",
                                                              "failed", "orphaned"};

constexpr Words<FailureReason, FailureReason::other> kReasons{"jit_request_failed",
                                                              "jit_expired",
                                                              "jit_refused",
                                                              "runner_package_unverified",
                                                              "runner_version_rejected",
                                                              "package_unavailable",
                                                              "process_start_failed",
                                                              "process_exited_unexpectedly",
                                                              "terminated_after_registration_timeout",
                                                              "terminated_by_operator",
                                                              "job_timed_out",
                                                              "preparation_interrupted",
                                                              "isolation_unsupported",
                                                              "isolation_not_installed",
                                                              "isolation_permission_denied",
                                                              "isolation_image_unavailable",
                                                              "isolation_disk_quota_unavailable",
                                                              "isolation_degraded",
                                                              "isolation_runtime_operation_failed",
                                                              "isolation_ownership_mismatch",
                                                              "isolation_unsafe_runtime_path",
                                                              "isolation_jit_handoff_rejected",
                                                              "workspace_cleanup_deferred",
                                                              "root_refused",
                                                              "slot_refused",
                                                              "no_free_slot",
                                                              "other"};

constexpr Words<ProviderKind, ProviderKind::isolated> kProviders{"native", "isolated"};

constexpr Words<WorkspaceKind, WorkspaceKind::persistent> kWorkspaces{"ephemeral", "persistent"};

constexpr Words<PolicyState, PolicyState::draining> kPolicyStates{"active", "paused", "draining"};

constexpr Words<TerminationKind, TerminationKind::by_operator> kTerminations{
    "surplus", "idle_timeout", "registration_timeout", "job_timeout", "by_operator"};

constexpr Words<TerminationStep, TerminationStep::stop> kSteps{"deregister", "stop"};

constexpr Words<EffectKind, EffectKind::scrub> kEffects{
    "acquire_package", "materialize", "prepare", "register_runner", "spawn_held",
    "release",         "stop",        "destroy", "deregister",      "scrub"};

constexpr Words<LimitingFactor, LimitingFactor::policy_minimum> kFactors{"none",
                                                                         "demand",
                                                                         "policy_maximum",
                                                                         "host_capacity",
                                                                         "target_cap",
                                                                         "paused",
                                                                         "draining",
                                                                         "provider_not_ready",
                                                                         "gateway_unreachable",
                                                                         "credential_rejected",
                                                                         "rate_limited",
                                                                         "package_not_ready",
                                                                         "held_after_refusal",
                                                                         "recovering",
                                                                         "disk_full",
                                                                         "root_refused",
                                                                         "no_free_slot",
                                                                         "journal_unreadable",
                                                                         "policy_minimum"};

constexpr Words<JournalState, JournalState::failing> kJournalStates{
    "ready", "full", "damaged", "other_version", "denied", "in_use", "absent", "failing"};

template <std::size_t size>
constexpr bool complete(const std::array<std::string_view, size>& words) {
  for (std::size_t i = 0; i < size; ++i) {
    if (words[i].empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (words[i] == words[j]) return false;
    }
  }
  return true;
}
static_assert(complete(kStates) && complete(kOutcomes) && complete(kReasons) && complete(kProviders));
static_assert(complete(kWorkspaces) && complete(kPolicyStates) && complete(kTerminations));
static_assert(complete(kSteps) && complete(kEffects) && complete(kFactors));
static_assert(complete(kJournalStates));

template <class T, std::size_t size>
std::string_view word(const std::array<std::string_view, size>& words, T value) {
  const auto at = static_cast<std::size_t>(value);
  return at < size ? words[at] : std::string_view{"unknown"};
}

template <class T, std::size_t size>
std::optional<T> value(const std::array<std::string_view, size>& words, std::string_view text) {
  for (std::size_t at = 0; at < size; ++at) {
    if (words[at] == text) return static_cast<T>(at);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(State state) { return word(kStates, state); }
std::string_view to_string(OutcomeKind kind) { return word(kOutcomes, kind); }
std::string_view to_string(FailureReason reason) { return word(kReasons, reason); }
std::string_view to_string(ProviderKind kind) { return word(kProviders, kind); }
std::string_view to_string(WorkspaceKind kind) { return word(kWorkspaces, kind); }
std::string_view to_string(PolicyState state) { return word(kPolicyStates, state); }
std::string_view to_string(TerminationKind kind) { return word(kTerminations, kind); }
std::string_view to_string(TerminationStep step) { return word(kSteps, step); }
std::string_view to_string(EffectKind kind) { return word(kEffects, kind); }
std::string_view to_string(LimitingFactor factor) { return word(kFactors, factor); }
std::string_view to_string(JournalState state) { return word(kJournalStates, state); }

JournalState journal_state(ErrorCode code) {
  switch (code) {
    case ErrorCode::full: return JournalState::full;
    case ErrorCode::corrupt: return JournalState::damaged;
    case ErrorCode::unsupported: return JournalState::other_version;
    case ErrorCode::denied: return JournalState::denied;
    case ErrorCode::busy: return JournalState::in_use;
    case ErrorCode::not_found: return JournalState::absent;
    default: return JournalState::failing;
  }
}

template <>
std::optional<State> parse<State>(std::string_view text) {
  return value<State>(kStates, text);
}
template <>
std::optional<OutcomeKind> parse<OutcomeKind>(std::string_view text) {
  return value<OutcomeKind>(kOutcomes, text);
}
template <>
std::optional<FailureReason> parse<FailureReason>(std::string_view text) {
  return value<FailureReason>(kReasons, text);
}
template <>
std::optional<ProviderKind> parse<ProviderKind>(std::string_view text) {
  return value<ProviderKind>(kProviders, text);
}
template <>
std::optional<WorkspaceKind> parse<WorkspaceKind>(std::string_view text) {
  return value<WorkspaceKind>(kWorkspaces, text);
}
template <>
std::optional<PolicyState> parse<PolicyState>(std::string_view text) {
  return value<PolicyState>(kPolicyStates, text);
}
template <>
std::optional<TerminationKind> parse<TerminationKind>(std::string_view text) {
  return value<TerminationKind>(kTerminations, text);
}
template <>
std::optional<TerminationStep> parse<TerminationStep>(std::string_view text) {
  return value<TerminationStep>(kSteps, text);
}
template <>
std::optional<EffectKind> parse<EffectKind>(std::string_view text) {
  return value<EffectKind>(kEffects, text);
}
template <>
std::optional<LimitingFactor> parse<LimitingFactor>(std::string_view text) {
  return value<LimitingFactor>(kFactors, text);
}

}  // namespace agent::domain
