// What can happen to an attempt. Every effect ends in exactly one event that carries the effect's number.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "domain/decision.hpp"
#include "domain/slots.hpp"

namespace agent::lifecycle {

namespace event {

struct Acquired {
  domain::PackageDigest digest;
  bool downloaded = false;
};
struct Materialized {};
struct Prepared {
  std::optional<domain::EnvironmentId> environment;
};
// The secret that came with it is in the vault, under the attempt's id.
struct Registered {
  domain::RunnerId runner;
};
struct Held {
  domain::ProcessIdentity process;
};
struct Started {};
struct Stopped {};
struct Destroyed {};
struct Scrubbed {};
// Instead of a destruction: the one sandbox that bears the attempt's identity, whose id was not on record.
struct SandboxFound {
  domain::EnvironmentId environment;
};

// How GitHub answered a removal. `not_listed` is an absence by name: it proves nothing about a request whose
// answer may still be on its way.
enum class Removal { gone, not_listed, busy };
struct Deregistered {
  Removal removal = Removal::gone;
  std::optional<domain::RunnerId> found;  // the id that a look-up by name found
};

// An effect that did not do what it was asked. `process_existed`: the secret may have been used.
struct Failed {
  domain::ErrorCode code = domain::ErrorCode::internal;
  domain::Millis retry_after{0};
  bool process_existed = false;
  std::optional<domain::SlotRefusal> slot{};  // the attempt's slot was refused, for this reason
  bool of_state = false;                      // it is the state directory that could not be written
  bool quarantined = false;  // which sandbox is the attempt's is not certain, so none was touched
};

// One look at the attempt from all sides; see domain::decide. `listing_began`: when the listing was asked
// for that an absence comes from.
struct Observed {
  domain::Observation seen;
  domain::Instant listing_began;
};

struct Timer {};         // something of this attempt is due
struct OperatorStop {};  // the operator wants it to end
// Another launch of the policy failed for that reason, and nothing was asked of GitHub yet for this one.
struct Withdrawn {
  domain::FailureReason reason = domain::FailureReason::other;
};
struct Claimed {};    // there is a job for an attempt that was granted ahead
struct Resumed {};    // a daemon started and found this row
struct Forgotten {};  // the operator has proved that nothing of it runs any more

}  // namespace event

using EventBody =
    std::variant<event::Acquired, event::Materialized, event::Prepared, event::Registered, event::Held,
                 event::Started, event::Stopped, event::Destroyed, event::Scrubbed, event::SandboxFound,
                 event::Deregistered, event::Failed, event::Observed, event::Timer, event::OperatorStop,
                 event::Withdrawn, event::Claimed, event::Resumed, event::Forgotten>;

struct Event {
  domain::AttemptId attempt;
  std::uint64_t seq = 0;  // of the effect that it answers; 0 for events that answer none
  EventBody body;
};

}  // namespace agent::lifecycle
