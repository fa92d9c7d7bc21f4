// One attempt, one observation, one decision: the ordered rules of supervision as a pure function.
#pragma once

#include <optional>
#include <variant>

#include "domain/attempt.hpp"

namespace agent::domain {

enum class EnvironmentView { prepared, starting, running, exited, missing, unknown };
enum class GithubView { unreachable, absent, offline, idle, busy };
enum class Evidence { unknown, no_job, ran };  // what the runner's own diagnostics prove

struct Observation {
  EnvironmentView environment = EnvironmentView::unknown;
  bool clean = false;  // with exited: the listener itself exited 0
  std::optional<std::int64_t> exit_code;
  bool out_of_memory = false;
  GithubView github = GithubView::unreachable;
  std::optional<RunnerId> listed_runner;  // the id listed under exactly our name
  Evidence evidence = Evidence::unknown;
  bool bring_up_here = false;   // launch effects of this process own the attempt
  bool surplus_allowed = true;  // more live attempts of the policy than its minimum
};

// The decisions. Each is what the machine does next for this observation; nothing else changes.
struct Nothing {
  bool operator==(const Nothing&) const = default;
};
struct Defer {
  bool operator==(const Defer&) const = default;
};  // an unknown: keep capacity and slot, ask again
struct Adopt {
  bool operator==(const Adopt&) const = default;
};  // all is as journalled: keep
struct Wait {
  bool operator==(const Wait&) const = default;
};  // with back-off
struct RecordRunner {
  RunnerId runner;
  bool operator==(const RecordRunner&) const = default;
};
struct RecordCleanExit {
  bool operator==(const RecordCleanExit&) const = default;
};
struct MoveTo {
  State state;
  bool operator==(const MoveTo&) const = default;
};  // starting, idle, busy
// Ends the attempt. `through` is walked first (busy before completed_job …). `deregister_first` asks for one
// removal whose answer does not matter; `replace` leaves a replacement intent.
struct Conclude {
  std::vector<State> through;
  Outcome outcome;
  bool deregister_first = false;
  bool replace = false;
  bool operator==(const Conclude&) const = default;
};
struct Terminate {
  TerminationKind kind;
  bool operator==(const Terminate&) const = default;
};  // record the intent
struct ResumeTermination {
  bool operator==(const ResumeTermination&) const = default;
};
struct WithdrawTermination {
  bool operator==(const WithdrawTermination&) const = default;
};
struct Stop {
  bool operator==(const Stop&) const = default;
};  // concluded, yet alive: stop and prove gone
struct Clean {
  bool operator==(const Clean&) const = default;
};  // concluded and dead: remove what is left

using Decision = std::variant<Nothing, Defer, Adopt, Wait, RecordRunner, RecordCleanExit, MoveTo, Conclude,
                              Terminate, ResumeTermination, WithdrawTermination, Stop, Clean>;

// First match wins, in the documented order. RecordRunner, RecordCleanExit, MoveTo(starting) and
// WithdrawTermination ask for another call with the changed attempt in the same pass.
Decision decide(const Attempt& attempt, const Observation& seen, const Instant& now);

// The outcome that a termination intent means once its runner is gone.
Outcome termination_outcome(TerminationKind kind);
// True for an intent whose first step is the deregistration.
bool deregisters_first(TerminationKind kind);
// Which conclusions leave a replacement intent.
bool wants_replacement(const Outcome& outcome);

}  // namespace agent::domain
