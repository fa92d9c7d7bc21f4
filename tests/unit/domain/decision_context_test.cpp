// What surrounds the rules: launches of this process, clocks, and what an answer means.
#include <gtest/gtest.h>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the tables read as the rules do
using Env = EnvironmentView;
using Hub = GithubView;

constexpr std::int64_t kHandoff = 120'000;
constexpr std::int64_t kStartup = 300'000;
constexpr std::int64_t kDay = 86'400'000;
constexpr State kConcluded[] = {State::finished, State::failed, State::orphaned, State::destroying,
                                State::cleanup_deferred};

// ---- A launch of this process owns the attempt

TEST(DecideBringUp, NothingAppliesToAnAttemptThatIsBeingLaunched) {
  for (const ProviderKind kind : kProviders) {
    for (const State state : kStates) {
      for (const Env environment : kEnvironments) {
        for (const Hub github : kGithub) {
          Attempt made = attempt(state, kind);
          made.runner.reset();
          Observation seen = observation(environment, github, Evidence::ran);
          seen.bring_up_here = true;
          seen.clean = true;
          seen.listed_runner = RunnerId{7};
          EXPECT_EQ(decided(made, seen, kDay), "nothing");
        }
      }
    }
  }
}

TEST(DecideBringUp, AnOperatorsIntentEndsIt) {
  for (const State state : {State::allocated, State::preparing, State::prepared, State::jit_received}) {
    Observation seen = observation(Env::prepared, Hub::unreachable);
    seen.bring_up_here = true;
    Attempt made = intended(state, TerminationKind::by_operator, ProviderKind::isolated);
    EXPECT_EQ(decided(made, seen), "failed{terminated_by_operator}");
    seen.environment = Env::running;
    EXPECT_EQ(decided(made, seen), "resume termination");
    seen.environment = Env::unknown;
    EXPECT_EQ(decided(made, seen), "defer");
    made.runner.reset();
    seen.listed_runner = RunnerId{9};
    EXPECT_EQ(decided(made, seen), "runner 9");
  }
}

TEST(DecideBringUp, NoOtherIntentDoes) {
  for (const TerminationKind kind : kTerminations) {
    if (kind == TerminationKind::by_operator) continue;
    Observation seen = observation(Env::missing, Hub::absent);
    seen.bring_up_here = true;
    EXPECT_EQ(decided(intended(State::starting, kind), seen), "nothing");
  }
}

TEST(DecideBringUp, AConcludedAttemptWaitsForTheLaunchToLetGoOfIt) {
  for (const State state : kConcluded) {
    Observation seen = observation(Env::missing, Hub::absent);
    seen.bring_up_here = true;
    EXPECT_EQ(decided(intended(state, TerminationKind::by_operator, ProviderKind::isolated), seen),
              "nothing");
  }
}

// ---- Clocks

TEST(DecideClock, AJumpOfTheWallClockTimesNothingOut) {
  for (const std::int64_t jump : {kDay * 365, -kDay * 365}) {
    Instant now = at(1'000);
    now.wall_ms += jump;
    EXPECT_EQ(describe(decide(attempt(State::idle), observation(Env::running, Hub::idle), now)), "adopt");
    EXPECT_EQ(describe(decide(attempt(State::starting), observation(Env::running, Hub::absent), now)),
              "adopt");
    EXPECT_EQ(describe(decide(attempt(State::jit_received), observation(Env::missing, Hub::absent), now)),
              "wait");
  }
}

TEST(DecideClock, AcrossARebootWallTimeCounts) {
  const Instant later{kWall + kHandoff, 1, BootId{"boot-b"}};
  const Instant before{kWall + kHandoff - 1, 1, BootId{"boot-b"}};
  const Observation seen = observation(Env::missing, Hub::absent);
  EXPECT_EQ(describe(decide(attempt(State::jit_received), seen, before)), "wait");
  EXPECT_EQ(describe(decide(attempt(State::jit_received), seen, later)), "failed{jit_expired} replace");
}

TEST(DecideClock, AClockThatWasSetBackDuringARebootTimesNothingOut) {
  const Instant now{kWall - kDay, 900'000'000, BootId{"boot-b"}};
  EXPECT_EQ(describe(decide(attempt(State::starting), observation(Env::running, Hub::offline), now)),
            "adopt");
}

TEST(DecideClock, TimeoutsRunFromTheLastChangeAndAreThePolicys) {
  Attempt made = attempt(State::starting);
  made.changed_at = at(50'000);
  EXPECT_EQ(decided(made, observation(Env::running, Hub::absent), 50'000 + kStartup - 1), "adopt");
  EXPECT_EQ(decided(made, observation(Env::running, Hub::absent), 50'000 + kStartup),
            "terminate registration_timeout");
  made.policy.timeouts.startup = Millis{10};
  EXPECT_EQ(decided(made, observation(Env::running, Hub::absent), 50'009), "adopt");
  EXPECT_EQ(decided(made, observation(Env::running, Hub::absent), 50'010), "terminate registration_timeout");
}

// ---- What the answers mean

TEST(DecideMeaning, EveryIntentHasOneOutcomeAndOneFirstStep) {
  for (const Intent& row : kIntents) {
    const Outcome outcome = termination_outcome(row.kind);
    EXPECT_EQ(describe(Conclude{{}, outcome, false, wants_replacement(outcome)}), row.meaning);
    EXPECT_EQ(deregisters_first(row.kind), row.deregister_first);
  }
}

TEST(DecideMeaning, OnlyFourReasonsAskForAReplacement) {
  int wanted = 0;
  for (int value = 0; value <= static_cast<int>(FailureReason::other); ++value) {
    const auto reason = static_cast<FailureReason>(value);
    const bool expected = reason == FailureReason::jit_expired ||
                          reason == FailureReason::process_exited_unexpectedly ||
                          reason == FailureReason::runner_version_rejected ||
                          reason == FailureReason::terminated_after_registration_timeout;
    EXPECT_EQ(wants_replacement({OutcomeKind::failed, reason, false}), expected) << to_string(reason);
    wanted += expected ? 1 : 0;
  }
  EXPECT_EQ(wanted, 4);
  for (const OutcomeKind kind : kOutcomes)
    EXPECT_FALSE(wants_replacement({kind, std::nullopt, false}));
}

TEST(DecideMeaning, OutOfMemoryAddsAFlagAndChangesNothingElse) {
  Observation seen = observation(Env::exited, Hub::absent);
  seen.out_of_memory = true;
  EXPECT_EQ(decided(attempt(State::busy), seen), "orphaned+oom");
  EXPECT_EQ(decided(attempt(State::starting), seen), "failed{process_exited_unexpectedly}+oom replace");
  Attempt journalled = attempt(State::busy);
  journalled.out_of_memory = true;
  EXPECT_EQ(decided(journalled, observation(Env::missing, Hub::absent)), "orphaned+oom");
}

}  // namespace
}  // namespace agent::domain
