// The attempt machine: launch, supervision, termination, clean-up and recovery in one pure function.
//
// step() never does anything: it answers the new row and the effects to be issued once that row is durable.
// At most one changing effect of an attempt is in flight, and the row names it before it is issued.
#pragma once

#include <vector>

#include "domain/attempt.hpp"
#include "lifecycle/events.hpp"

namespace agent::lifecycle {

// A changing effect to issue after the commit. The row that goes with it says everything else.
struct Order {
  domain::EffectKind kind;
  std::uint64_t seq = 0;
};

struct Context {
  domain::Instant now;
  bool demand_persists = true;    // the policy still has a queued job, or nobody knows
  bool launching_allowed = true;  // false: no launch step is tried again
  bool target_configured = true;  // false: no policy serves the attempt's target any more
};

struct Step {
  domain::Attempt attempt;
  std::vector<Order> orders;      // at most one
  bool drop_secret = false;       // nobody will use the attempt's one-time secret any more
  bool refused_for_good = false;  // the launch met a terminal refusal: hold the policy
  bool observe_soon = false;      // what comes next needs a look at the environment and at GitHub
};

Step step(const domain::Attempt& attempt, const Event& event, const Context& context);

// The first step of a launch: a row in `allocated` with its first effect. `attempt` carries the write-once
// facts.
Step begin(domain::Attempt attempt, const domain::Instant& now);

// True while launch effects of this process own the attempt; observations do not apply then.
bool in_bring_up(const domain::Attempt& attempt);

// True while it waits for a job, prepared ahead by this process. A restart ends that.
bool waits_for_job(const domain::Attempt& attempt);

// True for the effects that bring a runner up.
bool is_launch_effect(domain::EffectKind kind);

// When this attempt wants a Timer event; nothing if it waits for something else.
std::optional<domain::Instant> next_due(const domain::Attempt& attempt);

// How long after a registration request an absence by name proves nothing: it may wait for its turn, then
// run, and then be carried out late.
inline constexpr domain::Millis kRegistrationWait{60'000};
inline constexpr domain::Millis kRegistrationDeadline{60'000};
inline constexpr domain::Millis kAbsenceByName{10 * 60'000};
// GitHub removes an ephemeral runner that was offline for a day. After this long a debt of a target that is
// not configured any more is given up.
inline constexpr domain::Millis kForgetDebt{26LL * 3600 * 1000};

// How long a removed runtime is looked at for what a late child of the job makes there, since the last
// sighting.
inline constexpr domain::Millis kResidueWatch{3'600'000};

}  // namespace agent::lifecycle
