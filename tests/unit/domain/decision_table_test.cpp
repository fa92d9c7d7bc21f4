// The table at the end of the rules: one test a row, with the boundary of each timeout on both sides.
#include <gtest/gtest.h>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the tables read as the rules do
using Env = EnvironmentView;
using Hub = GithubView;

constexpr std::int64_t kHandoff = 120'000;
constexpr std::int64_t kStartup = 300'000;
constexpr std::int64_t kIdle = 300'000;
constexpr std::int64_t kJob = 3'600'000;
constexpr std::int64_t kDay = 86'400'000;
constexpr Env kAlive[] = {Env::starting, Env::running};
constexpr Env kDead[] = {Env::prepared, Env::exited, Env::missing};
constexpr Env kNotStarted[] = {Env::prepared, Env::missing};
constexpr State kTerminal[] = {State::finished, State::failed, State::orphaned};

Attempt with_job_timeout(std::int64_t ms) {
  Attempt made = attempt(State::busy);
  made.policy.timeouts.job = Millis{ms};
  return made;
}

TEST(DecideTable, ANativeAttemptThatIsConcludedAndAliveIsStopped) {
  for (const State state : kTerminal) {
    for (const Env environment : kAlive) {
      for (const Hub github : kGithub) {
        EXPECT_EQ(decided(attempt(state), observation(environment, github)), "stop");
      }
    }
  }
}

TEST(DecideTable, AConcludedAttemptWithAnUnknownEnvironmentWaits) {
  for (const Hub github : kGithub) {
    for (const State state : kTerminal)
      EXPECT_EQ(decided(attempt(state), observation(Env::unknown, github)), "wait");
    for (const State state :
         {State::finished, State::failed, State::orphaned, State::destroying, State::cleanup_deferred}) {
      EXPECT_EQ(decided(attempt(state, ProviderKind::isolated), observation(Env::unknown, github)), "wait");
    }
  }
}

TEST(DecideTable, AConcludedAttemptIsCleanedDeadIfNativeAndAlwaysIfIsolated) {
  for (const Hub github : kGithub) {
    for (const Env environment : kDead) {
      for (const State state : kTerminal)
        EXPECT_EQ(decided(attempt(state), observation(environment, github)), "clean");
    }
    for (const Env environment : {Env::prepared, Env::starting, Env::running, Env::exited, Env::missing}) {
      for (const State state :
           {State::finished, State::failed, State::orphaned, State::destroying, State::cleanup_deferred}) {
        EXPECT_EQ(decided(attempt(state, ProviderKind::isolated), observation(environment, github)), "clean");
      }
    }
  }
}

TEST(DecideTable, AnOutageDefersEveryLiveState) {
  Attempt timed_out = with_job_timeout(1);
  for (const Env environment : kEnvironments) {
    for (const State state : {State::starting, State::idle, State::busy}) {
      timed_out.state = state;
      for (const Evidence evidence : kEvidence) {
        EXPECT_EQ(decided(timed_out, observation(environment, Hub::unreachable, evidence), kDay), "defer");
      }
    }
  }
  for (const Env environment : kNotStarted) {
    for (const State state : {State::allocated, State::jit_received}) {
      EXPECT_EQ(decided(attempt(state), observation(environment, Hub::unreachable), kDay), "defer");
    }
  }
}

TEST(DecideTable, BeforeTheHandoffDeadAndBusyIsOrphaned) {
  for (const Env environment : kNotStarted) {
    for (const State state : {State::allocated, State::jit_received}) {
      for (const std::int64_t ms : {std::int64_t{0}, kHandoff}) {
        EXPECT_EQ(decided(attempt(state), observation(environment, Hub::busy), ms), "orphaned");
      }
    }
  }
}

TEST(DecideTable, BeforeTheHandoffDeadAndAbsentWaitsUntilTheTimeout) {
  for (const Env environment : kNotStarted) {
    const Observation seen = observation(environment, Hub::absent);
    EXPECT_EQ(decided(attempt(State::allocated), seen, kHandoff - 1), "wait");
    EXPECT_EQ(decided(attempt(State::jit_received), seen, kHandoff - 1), "wait");
  }
}

TEST(DecideTable, BeforeTheHandoffDeadAndAbsentFailsAtTheTimeout) {
  for (const Env environment : kNotStarted) {
    const Observation seen = observation(environment, Hub::absent);
    EXPECT_EQ(decided(attempt(State::allocated), seen, kHandoff), "failed{jit_request_failed}");
    EXPECT_EQ(decided(attempt(State::jit_received), seen, kHandoff), "failed{jit_expired} replace");
    EXPECT_EQ(decided(attempt(State::jit_received, ProviderKind::isolated), seen, kHandoff),
              "failed{jit_expired} replace");
  }
}

TEST(DecideTable, StartingFollowsGithub) {
  for (const Env environment : kEnvironments) {
    if (environment == Env::unknown) continue;
    for (const std::int64_t ms : {std::int64_t{0}, kStartup}) {
      EXPECT_EQ(decided(attempt(State::starting), observation(environment, Hub::busy), ms), "to busy");
      EXPECT_EQ(decided(attempt(State::starting), observation(environment, Hub::idle), ms), "to idle");
    }
  }
}

TEST(DecideTable, StartingAndDeadUnconnectedFailsWithAReplacement) {
  for (const Env environment : kDead) {
    for (const Hub github : {Hub::absent, Hub::offline}) {
      for (const std::int64_t ms : {std::int64_t{0}, kStartup}) {
        EXPECT_EQ(decided(attempt(State::starting), observation(environment, github), ms),
                  "failed{process_exited_unexpectedly} replace");
      }
    }
  }
}

TEST(DecideTable, StartingAndAliveUnconnectedIsKeptUntilTheStartupTimeout) {
  for (const Env environment : kAlive) {
    for (const Hub github : {Hub::absent, Hub::offline}) {
      EXPECT_EQ(decided(attempt(State::starting), observation(environment, github), kStartup - 1), "adopt");
      EXPECT_EQ(decided(attempt(State::starting), observation(environment, github), kStartup),
                "terminate registration_timeout");
    }
  }
}

TEST(DecideTable, IdleAndBusyAtGithubIsBusyBeforeLivenessIsAsked) {
  for (const Env environment : kEnvironments) {
    if (environment == Env::unknown) continue;
    for (const std::int64_t ms : {std::int64_t{0}, kIdle}) {
      EXPECT_EQ(decided(attempt(State::idle), observation(environment, Hub::busy), ms), "to busy");
    }
  }
}

TEST(DecideTable, IdleAndDeadButIdleAtGithubIsOrphaned) {
  for (const Env environment : kDead) {
    for (const std::int64_t ms : {std::int64_t{0}, kIdle}) {
      EXPECT_EQ(decided(attempt(State::idle), observation(environment, Hub::idle), ms), "orphaned");
    }
  }
}

TEST(DecideTable, IdleAndAliveIsKeptUntilTheIdleTimeoutThenSurplus) {
  for (const Env environment : kAlive) {
    for (const Hub github : {Hub::idle, Hub::offline}) {
      EXPECT_EQ(decided(attempt(State::idle), observation(environment, github), kIdle - 1), "adopt");
      EXPECT_EQ(decided(attempt(State::idle), observation(environment, github), kIdle), "terminate surplus");
    }
  }
}

TEST(DecideTable, TheMinimumKeepsAnIdleRunnerBeyondItsTimeout) {
  for (const Hub github : {Hub::idle, Hub::offline}) {
    Observation seen = observation(Env::running, github);
    seen.surplus_allowed = false;
    EXPECT_EQ(decided(attempt(State::idle), seen, kDay), "adopt");
  }
}

TEST(DecideTable, IdleAndAliveButAbsentEndsAtTheIdleTimeoutWhateverTheMinimum) {
  for (const Env environment : kAlive) {
    for (const bool surplus_allowed : {true, false}) {
      Observation seen = observation(environment, Hub::absent);
      seen.surplus_allowed = surplus_allowed;
      EXPECT_EQ(decided(attempt(State::idle), seen, kIdle - 1), "adopt");
      EXPECT_EQ(decided(attempt(State::idle), seen, kIdle), "terminate idle_timeout");
    }
  }
}

TEST(DecideTable, IdleAndDeadUnconnectedLeftForWantOfWorkAfterTheTimeoutAndFailedBefore) {
  for (const Env environment : kDead) {
    for (const Hub github : {Hub::absent, Hub::offline}) {
      EXPECT_EQ(decided(attempt(State::idle), observation(environment, github), kIdle),
                "exited_idle_without_work");
      EXPECT_EQ(decided(attempt(State::idle), observation(environment, github), kIdle - 1),
                "failed{process_exited_unexpectedly} replace");
    }
  }
}

TEST(DecideTable, BusyAndAliveIsTerminatedAtTheJobTimeoutWhileGithubAnswers) {
  for (const Env environment : kAlive) {
    for (const Hub github : {Hub::absent, Hub::offline, Hub::idle, Hub::busy}) {
      EXPECT_EQ(decided(with_job_timeout(kJob), observation(environment, github), kJob - 1), "adopt");
      EXPECT_EQ(decided(with_job_timeout(kJob), observation(environment, github), kJob),
                "terminate job_timeout");
    }
  }
}

TEST(DecideTable, BusyAndAliveIsKept) {
  for (const Env environment : kAlive) {
    for (const Hub github : {Hub::absent, Hub::offline, Hub::idle, Hub::busy}) {
      EXPECT_EQ(decided(attempt(State::busy), observation(environment, github), 365 * kDay), "adopt");
    }
  }
}

TEST(DecideTable, BusyAndDeadIsOrphaned) {
  for (const Env environment : kDead) {
    for (const Hub github : {Hub::absent, Hub::offline, Hub::idle, Hub::busy}) {
      EXPECT_EQ(decided(with_job_timeout(kJob), observation(environment, github), kJob), "orphaned");
    }
  }
}

TEST(DecideTable, AWorkersLogKeepsARunnerThatATimeoutWouldEnd) {
  for (const Hub github : {Hub::absent, Hub::offline}) {
    EXPECT_EQ(decided(attempt(State::starting), observation(Env::running, github, Evidence::ran), kStartup),
              "to busy");
  }
  for (const Hub github : {Hub::absent, Hub::offline, Hub::idle}) {
    EXPECT_EQ(decided(attempt(State::idle), observation(Env::running, github, Evidence::ran), kIdle),
              "to busy");
    EXPECT_EQ(decided(attempt(State::idle), observation(Env::running, github, Evidence::ran), kIdle - 1),
              "adopt");
  }
}

// ---- The listener's own words about its version

TEST(DecideTable, AListenerThatGithubRejectsForItsVersionIsReplaced) {
  for (const std::int64_t code : {3, 4, 7}) {
    Observation seen = observation(Env::exited, Hub::absent);
    seen.exit_code = code;
    for (const Hub github : {Hub::absent, Hub::offline}) {
      seen.github = github;
      EXPECT_EQ(decided(attempt(State::starting), seen), "failed{runner_version_rejected} replace");
      EXPECT_EQ(decided(attempt(State::idle), seen), "failed{runner_version_rejected} replace");
      EXPECT_EQ(decided(attempt(State::busy), seen), "orphaned");
    }
    seen.github = Hub::idle;
    EXPECT_EQ(decided(attempt(State::idle), seen), "failed{runner_version_rejected} replace");
    seen.github = Hub::unreachable;
    EXPECT_EQ(decided(attempt(State::starting), seen), "defer");
    seen.github = Hub::busy;
    EXPECT_EQ(decided(attempt(State::idle), seen), "to busy");
  }
}

TEST(DecideTable, AJournalledExitCodeCountsLikeOneThatIsSeen) {
  Attempt made = attempt(State::starting);
  made.exit_code = 7;
  EXPECT_EQ(decided(made, observation(Env::missing, Hub::absent)), "failed{runner_version_rejected} replace");
  EXPECT_EQ(decided(made, observation(Env::running, Hub::absent)), "adopt");
}

TEST(DecideTable, OtherExitCodesAndSignalsChangeNoRow) {
  for (const std::int64_t code : {-9, 0, 1, 2, 5, 6, 8, 137, 255}) {
    Observation seen = observation(Env::exited, Hub::absent);
    seen.exit_code = code;
    EXPECT_EQ(decided(attempt(State::starting), seen), "failed{process_exited_unexpectedly} replace") << code;
    EXPECT_EQ(decided(attempt(State::busy), seen), "orphaned") << code;
  }
}

}  // namespace
}  // namespace agent::domain
