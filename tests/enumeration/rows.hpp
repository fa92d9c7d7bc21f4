// What is enumerated: the values of each dimension, and rows and observations made of them.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/decision.hpp"
#include "lifecycle/machine.hpp"

namespace enumeration {

using namespace agent::domain;  // NOLINT(google-build-using-namespace): the rules read as they are spoken
namespace lifecycle = agent::lifecycle;
namespace event = agent::lifecycle::event;

inline constexpr std::array kKinds{ProviderKind::native, ProviderKind::isolated};
inline constexpr std::array kStates{State::allocated,    State::preparing,  State::prepared,
                                    State::jit_received, State::starting,   State::idle,
                                    State::busy,         State::finished,   State::failed,
                                    State::orphaned,     State::destroying, State::cleanup_deferred,
                                    State::cleaned};
inline constexpr std::array kEffects{
    EffectKind::acquire_package, EffectKind::materialize, EffectKind::prepare, EffectKind::register_runner,
    EffectKind::spawn_held,      EffectKind::release,     EffectKind::stop,    EffectKind::destroy,
    EffectKind::deregister,      EffectKind::scrub};
inline constexpr std::array kIntents{TerminationKind::surplus, TerminationKind::idle_timeout,
                                     TerminationKind::registration_timeout, TerminationKind::job_timeout,
                                     TerminationKind::by_operator};
inline constexpr std::array kEnvironments{EnvironmentView::prepared, EnvironmentView::starting,
                                          EnvironmentView::running,  EnvironmentView::exited,
                                          EnvironmentView::missing,  EnvironmentView::unknown};
inline constexpr std::array kGithub{GithubView::unreachable, GithubView::absent, GithubView::offline,
                                    GithubView::idle, GithubView::busy};
inline constexpr std::array kEvidence{Evidence::unknown, Evidence::no_job, Evidence::ran};

inline constexpr std::int64_t kHandoff = 120'000, kStartup = 200'000, kIdle = 300'000, kJob = 3'600'000;
inline constexpr std::int64_t kLong = 30LL * 24 * 3'600'000;

// What else a row or an observation may say; one of them at a time.
enum class Fact {
  plain,              // the runner is known, the job may last kJob, the policy has more than its minimum
  runner_seen_first,  // GitHub lists an id that the row does not have
  runner_unknown,     // nobody ever saw one
  clean_exit_known,   // journalled before
  version_rejected,   // the listener left with 7
  at_the_minimum,     // ending it would leave the policy below its minimum
  no_job_timeout,
  unanswered,  // a registration request whose outcome nobody knows
};
inline constexpr std::array kFacts{Fact::plain,
                                   Fact::runner_seen_first,
                                   Fact::runner_unknown,
                                   Fact::clean_exit_known,
                                   Fact::version_rejected,
                                   Fact::at_the_minimum,
                                   Fact::no_job_timeout,
                                   Fact::unanswered};

// A moment `ms` after the last change of every row here.
Instant at(std::int64_t ms);
bool exists_for(ProviderKind kind, State state);
// Before, just before, at and long after the timeout that a state has.
std::vector<std::int64_t> moments_of(State state);

Attempt row(ProviderKind kind, State state, Fact fact);
void set_pending(Attempt& attempt, std::optional<EffectKind> kind);
Observation observation(Fact fact, EnvironmentView environment, bool clean, GithubView github,
                        Evidence evidence);

// Each intent in each step that it can have, and none.
std::vector<std::optional<Termination>> intents();

std::string describe(const Attempt& attempt);
std::string describe(const Observation& seen);
std::string name_of(const Decision& decision);

}  // namespace enumeration
