// The parts of the attempt machine, one file each; only machine.cpp and they use this header.
#pragma once

#include "lifecycle/machine.hpp"

namespace agent::lifecycle {

inline bool is_isolated(const domain::Attempt& attempt) {
  return attempt.policy.provider_kind == domain::ProviderKind::isolated;
}

// True in the states of a launch that has not handed its secret over.
bool awaits_handoff(domain::State state);

// Names the effect in the row and orders it. Must not be called while another one is pending.
void issue(Step& out, domain::EffectKind kind, const domain::Instant& now);

// Ends a live attempt: outcome, terminal state, what is owed, and the secret dropped.
void conclude(Step& out, const domain::Outcome& outcome, const Context& context);

// An absence counts at once when every request was answered; otherwise in a listing that began when nothing
// that was asked for could be on its way any more.
bool absence_proves(const domain::Attempt& attempt, const domain::Instant& listing_began);

// A runner was seen or removed that no answer told of. Where only one was ever asked for, that one is
// accounted for; of several nobody can say which request brought it.
void settle_unanswered(domain::Attempt& attempt);

// Remembers a registration request that failed in a way that does not say whether it was carried out.
void note_unanswered(domain::Attempt& attempt, const domain::Pending& answered, const EventBody& body);

// A registration came that nobody waited for: its removal is owed.
void owe(Step& out, domain::RunnerId runner);

// Counts one more failed try of ending, destroying or scrubbing, and when the next one is due. A sandbox that
// was being destroyed is deferred until then.
void retry_cleanup(domain::Attempt& attempt, const domain::Instant& now,
                   domain::Millis asked = domain::Millis{0});

// The answer to the effect that was pending. (launch.cpp, ending.cpp)
void answer(Step& out, const domain::Pending& answered, const EventBody& body, const Context& context);
void answer_launch(Step& out, domain::EffectKind kind, const EventBody& body, const Context& context);
void answer_ending(Step& out, const domain::Pending& answered, const EventBody& body, const Context& context);

// One look, decided and applied until the decision asks for nothing more. (observe.cpp)
void observe(Step& out, const event::Observed& observed, const Context& context);

// Issues the next effect that the row asks for, if none is pending and it is due. (progress.cpp)
void progress(Step& out, const Context& context);

// The launch step that has not been done yet, from the row's facts. Nothing when the launch is over.
std::optional<domain::EffectKind> next_launch_step(const domain::Attempt& attempt);

}  // namespace agent::lifecycle
