// One ephemeral runner from an allocation decision to a proven-clean end: the row that the journal keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/policy.hpp"

namespace agent::domain {

// Names one process for ever; a pid alone may be reused.
struct ProcessIdentity {
  std::int64_t pid = 0;
  std::uint64_t start_token = 0;
  BootId boot_id;
  bool operator==(const ProcessIdentity&) const = default;
};

struct Outcome {
  OutcomeKind kind = OutcomeKind::failed;
  std::optional<FailureReason> reason;  // set for failed only
  bool out_of_memory = false;
  bool operator==(const Outcome&) const = default;
};

// The one changing effect in flight, durable before it is issued. Answers carry seq; an old one is
// compensated.
struct Pending {
  EffectKind kind = EffectKind::acquire_package;
  std::uint64_t seq = 0;
  Instant issued_at;
  bool operator==(const Pending&) const = default;
};

// A decided end of a live attempt, durable before anything is signalled.
struct Termination {
  TerminationKind kind = TerminationKind::surplus;
  TerminationStep step = TerminationStep::deregister;
  bool operator==(const Termination&) const = default;
};

// When a tolerated failure is tried again. 0 tries: nothing failed yet.
struct Retry {
  std::int64_t tries = 0;
  Instant due;
  bool operator==(const Retry&) const = default;
};

// How far a launch came and when; for step timings. Absent steps did not end.
struct LaunchTimes {
  Instant granted;
  std::optional<Instant> demand_seen, package_acquired, materialized, prepared, registered, held, started;
  bool operator==(const LaunchTimes&) const = default;
};

struct Attempt {
  // Written with the row and never changed.
  AttemptId id;
  Generation generation;
  Policy policy;  // the definition it was granted under; a removed policy drains from here
  std::string runtime;
  std::optional<std::int64_t> slot;

  // Granted before there was a job: it stays `prepared`, without a registration, until it is claimed for one.
  bool ahead = false;
  bool package_inside = false;  // its environment has the runner package already, so none is made ready

  State state = State::allocated;
  Instant changed_at;  // last state change; every timeout runs from here

  // Write-once facts.
  std::optional<PackageDigest> package;  // the lease: held until cleaned
  std::optional<EnvironmentId> environment;
  std::optional<RunnerId> runner;
  std::optional<ProcessIdentity> process;

  // "JIT requested": a registration may exist from the first request on. How many there were, and the time of
  // the last one.
  std::int64_t jit_requests = 0;
  std::optional<Instant> jit_requested_at;
  // When the newest request was issued whose outcome nobody knows and whose runner was not seen either: it
  // may still come into being under the attempt's name.
  std::optional<Instant> unanswered_at;
  bool absence_observed = false;          // GitHub was seen without the registration since the last request
  bool clean_exit = false;                // the listener itself exited 0; journalled once
  std::optional<std::int64_t> exit_code;  // of the listener, when known
  bool out_of_memory = false;

  std::optional<Pending> pending;
  std::uint64_t next_seq = 1;
  std::optional<Termination> termination;
  std::optional<Outcome> outcome;

  bool replacement_wanted = false;   // consumed by the allocator exactly once
  bool environment_removed = false;  // the provider proved that nothing is left
  bool deregistration_owed = false;  // a debt until GitHub answers that it is gone
  Retry launch_retry;                // of the launch step that failed last
  Retry cleanup_retry;               // of ending, destroying and scrubbing
  Retry deregistration_retry;

  LaunchTimes times;
  // Set when it is cleaned: late children of the job may bring the runtime directory back, so it is looked at
  // until then.
  std::optional<Instant> residue_until;
  bool operator==(const Attempt&) const = default;
};

}  // namespace agent::domain
