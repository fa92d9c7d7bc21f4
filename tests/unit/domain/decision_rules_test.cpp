// The rules that come before the table, in their order, one or more tests each.
#include <gtest/gtest.h>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the tables read as the rules do
using Env = EnvironmentView;
using Hub = GithubView;

constexpr std::int64_t kIdle = 300'000;
constexpr std::int64_t kDay = 86'400'000;
constexpr State kLive[] = {State::allocated, State::preparing, State::prepared, State::jit_received,
                           State::starting,  State::idle,      State::busy};

Observation clean_exit(Hub github, Evidence evidence) {
  Observation seen = observation(Env::exited, github, evidence);
  seen.clean = true;
  seen.exit_code = 0;
  return seen;
}

Attempt exited_cleanly(State state, ProviderKind kind = ProviderKind::native) {
  Attempt made = attempt(state, kind);
  made.clean_exit = true;
  made.exit_code = 0;
  return made;
}

// ---- Rule 1

TEST(DecideRule1, ACleanedAttemptIsLeftAloneWhateverIsSeen) {
  Attempt gone = attempt(State::cleaned);
  gone.runner.reset();
  for (const Env environment : kEnvironments) {
    for (const Hub github : kGithub) {
      Observation seen = observation(environment, github);
      seen.listed_runner = RunnerId{7};
      seen.clean = true;
      EXPECT_EQ(decided(gone, seen, kDay), "nothing");
    }
  }
}

TEST(DecideRule1, ARunnerIdSeenForTheFirstTimeIsRecordedBeforeAllElse) {
  for (const State state : kStates) {
    if (state == State::cleaned) continue;
    Attempt made = attempt(state, ProviderKind::isolated);
    made.runner.reset();
    made.termination = Termination{};
    for (const Env environment : kEnvironments) {
      Observation seen = observation(environment, Hub::offline);
      seen.clean = environment == Env::exited;
      seen.listed_runner = RunnerId{7};
      EXPECT_EQ(decided(made, seen, kDay), "runner 7") << to_string(state);
    }
  }
}

TEST(DecideRule1, AKnownRunnerIdIsNotRecordedAgain) {
  Observation seen = observation(Env::running, Hub::idle);
  seen.listed_runner = RunnerId{7};
  EXPECT_EQ(decided(attempt(State::idle), seen), "adopt");
}

TEST(DecideRule1, ACleanExitIsRecordedOnceAndBeforeWhatFollowsFromIt) {
  for (const State state : kLive) {
    EXPECT_EQ(decided(attempt(state, ProviderKind::isolated), clean_exit(Hub::unreachable, Evidence::ran)),
              "clean exit");
  }
  EXPECT_EQ(decided(exited_cleanly(State::idle), clean_exit(Hub::unreachable, Evidence::ran)), "defer");
  EXPECT_EQ(decided(attempt(State::finished), clean_exit(Hub::absent, Evidence::ran)), "clean");
}

TEST(DecideRule1, OnlyAnExitCanBeClean) {
  Observation seen = observation(Env::running, Hub::idle);
  seen.clean = true;
  EXPECT_EQ(decided(attempt(State::idle), seen), "adopt");
}

// ---- Rule 2

TEST(DecideRule2, AnUnknownEnvironmentDefersEveryLiveState) {
  for (const ProviderKind kind : kProviders) {
    for (const State state : kLive) {
      for (const Hub github : kGithub) {
        EXPECT_EQ(decided(attempt(state, kind), observation(Env::unknown, github, Evidence::ran), kDay),
                  "defer");
      }
    }
  }
}

TEST(DecideRule2, UnknownComesBeforeAnInterruptedPreparationAndBeforeAnIntent) {
  EXPECT_EQ(decided(attempt(State::prepared, ProviderKind::isolated), observation(Env::unknown, Hub::absent)),
            "defer");
  for (const TerminationKind kind : kTerminations) {
    EXPECT_EQ(decided(intended(State::idle, kind), observation(Env::unknown, Hub::busy)), "defer");
  }
}

TEST(DecideRule2, AProcessBesideANativeAllocationIsNotProvablyOurs) {
  for (const Env environment : {Env::starting, Env::running}) {
    EXPECT_EQ(decided(attempt(State::allocated), observation(environment, Hub::idle), kDay), "defer");
    EXPECT_EQ(decided(intended(State::allocated, TerminationKind::by_operator),
                      observation(environment, Hub::idle), kDay),
              "defer");
  }
}

// ---- Rule 3

TEST(DecideRule3, AnInterruptedPreparationFailsAtOnceAlsoInAnOutage) {
  for (const State state : {State::allocated, State::preparing, State::prepared}) {
    for (const Env environment : kEnvironments) {
      if (environment == Env::unknown) continue;
      for (const Hub github : kGithub) {
        EXPECT_EQ(decided(attempt(state, ProviderKind::isolated), observation(environment, github)),
                  "failed{preparation_interrupted}");
      }
    }
  }
}

TEST(DecideRule3, AnOperatorsIntentKeepsItsOwnMeaning) {
  for (const State state : {State::allocated, State::preparing, State::prepared}) {
    EXPECT_EQ(decided(intended(state, TerminationKind::by_operator, ProviderKind::isolated),
                      observation(Env::running, Hub::unreachable)),
              "failed{terminated_by_operator}");
  }
}

TEST(DecideRule3, ANativeAllocationIsNotAnInterruptedPreparation) {
  EXPECT_EQ(decided(attempt(State::allocated), observation(Env::missing, Hub::absent)), "wait");
}

// ---- Rule 4

TEST(DecideRule4, AStartThatWasNotJournalledIsJournalledAlsoInAnOutage) {
  for (const ProviderKind kind : kProviders) {
    for (const Env environment : {Env::starting, Env::running, Env::exited}) {
      for (const Hub github : kGithub) {
        EXPECT_EQ(decided(attempt(State::jit_received, kind), observation(environment, github), kDay),
                  "to starting");
      }
    }
  }
}

TEST(DecideRule4, AJournalledCleanExitProvesTheStartEvenIfItsRecordIsGone) {
  EXPECT_EQ(decided(exited_cleanly(State::jit_received), observation(Env::missing, Hub::offline)),
            "to starting");
}

TEST(DecideRule4, ComesBeforeAnIntentWhichIsDecidedInTheSamePass) {
  Attempt made = intended(State::jit_received, TerminationKind::by_operator);
  const Observation seen = observation(Env::exited, Hub::unreachable);
  EXPECT_EQ(decided(made, seen), "to starting");
  made.state = State::starting;
  EXPECT_EQ(decided(made, seen), "failed{terminated_by_operator}");
}

TEST(DecideRule4, AHeldOrMissingListenerHasNotStarted) {
  for (const Env environment : {Env::prepared, Env::missing}) {
    EXPECT_EQ(decided(attempt(State::jit_received), observation(environment, Hub::absent)), "wait");
  }
}

// ---- Rule 5

TEST(DecideRule5, AnIntentThatDeregistersFirstIsWithdrawnWhenGithubSaysBusy) {
  for (const Intent& row : kIntents) {
    for (const Env environment : {Env::running, Env::starting, Env::exited, Env::missing, Env::prepared}) {
      const std::string answer = decided(intended(row.state, row.kind), observation(environment, Hub::busy));
      EXPECT_EQ(answer == "withdraw termination", row.deregister_first) << answer;
    }
  }
}

TEST(DecideRule5, AnIntentThatDeregistersFirstIsWithdrawnWhenAJobRan) {
  for (const Intent& row : kIntents) {
    for (const Hub github : kGithub) {
      for (const Env environment : {Env::running, Env::missing}) {
        const std::string answer =
            decided(intended(row.state, row.kind), observation(environment, github, Evidence::ran));
        EXPECT_EQ(answer == "withdraw termination", row.deregister_first) << answer;
      }
    }
  }
}

TEST(DecideRule5, BesideADeadEnvironmentTheIntentConcludesAlsoInAnOutage) {
  for (const Intent& row : kIntents) {
    for (const Env environment : {Env::prepared, Env::exited, Env::missing}) {
      for (const Hub github : {Hub::unreachable, Hub::absent, Hub::offline, Hub::idle}) {
        EXPECT_EQ(decided(intended(row.state, row.kind), observation(environment, github, Evidence::no_job)),
                  row.meaning);
      }
    }
  }
}

TEST(DecideRule5, BesideALiveEnvironmentTheTerminationGoesOnFromItsStep) {
  for (const Intent& row : kIntents) {
    for (const TerminationStep step : {TerminationStep::deregister, TerminationStep::stop}) {
      Attempt made = intended(row.state, row.kind);
      made.termination->step = step;
      for (const Hub github : {Hub::unreachable, Hub::absent, Hub::offline, Hub::idle}) {
        EXPECT_EQ(decided(made, observation(Env::running, github)), "resume termination");
      }
    }
  }
}

TEST(DecideRule5, AnOperatorsIntentAndAJobTimeoutOutrankACleanExit) {
  for (const TerminationKind kind : {TerminationKind::by_operator, TerminationKind::job_timeout}) {
    Attempt made = intended(State::busy, kind);
    made.clean_exit = true;
    EXPECT_EQ(decided(made, observation(Env::missing, Hub::absent, Evidence::ran)),
              describe(Conclude{{}, termination_outcome(kind), false, false}));
  }
}

TEST(DecideRule5, AWithdrawnIntentLeavesTheObservationToTheTable) {
  Attempt made = intended(State::idle, TerminationKind::surplus);
  const Observation seen = observation(Env::running, Hub::busy);
  EXPECT_EQ(decided(made, seen, kIdle), "withdraw termination");
  made.termination.reset();
  EXPECT_EQ(decided(made, seen, kIdle), "to busy");
}

TEST(DecideRule5, AnIdleMeaningFoundInAnotherStateIsReachedByLegalSteps) {
  EXPECT_EQ(decided(intended(State::busy, TerminationKind::surplus), observation(Env::missing, Hub::absent)),
            "exited_idle_without_work via idle");
  EXPECT_EQ(
      decided(intended(State::allocated, TerminationKind::surplus), observation(Env::missing, Hub::absent)),
      "exited_idle_without_work via jit_received via starting via idle");
}

// ---- Rule 6

TEST(DecideRule6, AJobTooShortToBeSeenIsCompleted) {
  for (const ProviderKind kind : kProviders) {
    for (const State state : {State::starting, State::idle}) {
      EXPECT_EQ(decided(exited_cleanly(state, kind), clean_exit(Hub::absent, Evidence::ran)),
                "completed_job via busy");
    }
  }
}

TEST(DecideRule6, AFinishedJobIsCompletedAlsoIfTheRecordOfItsExitIsGone) {
  EXPECT_EQ(decided(exited_cleanly(State::busy), observation(Env::missing, Hub::absent, Evidence::ran)),
            "completed_job");
}

TEST(DecideRule6, AFinishedJobStillListedIsCompletedAndDeregistered) {
  for (const Hub github : {Hub::offline, Hub::idle, Hub::busy}) {
    EXPECT_EQ(decided(exited_cleanly(State::idle), clean_exit(github, Evidence::ran)),
              "completed_job via busy deregister");
    EXPECT_EQ(decided(exited_cleanly(State::busy), clean_exit(github, Evidence::ran)),
              "completed_job deregister");
    EXPECT_EQ(decided(exited_cleanly(State::busy), clean_exit(github, Evidence::no_job)),
              "exited_idle_without_work via idle deregister");
  }
}

TEST(DecideRule6, AnAssignmentNeverTakenUpIsNoCompletedJob) {
  EXPECT_EQ(decided(exited_cleanly(State::busy), clean_exit(Hub::absent, Evidence::no_job)),
            "exited_idle_without_work via idle");
}

TEST(DecideRule6, ABusyRunnerThatLeftCleanlyAndIsNotListedCompletedItsJob) {
  EXPECT_EQ(decided(exited_cleanly(State::busy), clean_exit(Hub::absent, Evidence::unknown)),
            "completed_job");
  for (const Hub github : {Hub::offline, Hub::idle, Hub::busy}) {
    EXPECT_EQ(decided(exited_cleanly(State::busy), clean_exit(github, Evidence::unknown)), "orphaned");
  }
}

TEST(DecideRule6, ACleanExitWaitsForGithubToAnswer) {
  for (const State state : {State::starting, State::idle, State::busy}) {
    for (const Evidence evidence : kEvidence) {
      EXPECT_EQ(decided(exited_cleanly(state), clean_exit(Hub::unreachable, evidence), kDay), "defer");
    }
  }
}

TEST(DecideRule6, AJobWithoutAKnownRunnerIdStillConcludesByTheTable) {
  Attempt made = exited_cleanly(State::starting);
  made.runner.reset();
  EXPECT_EQ(decided(made, clean_exit(Hub::absent, Evidence::ran)),
            "failed{process_exited_unexpectedly} replace");
}

TEST(DecideRule6, WithoutDiagnosticsAnEarlyExitIsStillAFailure) {
  for (const State state : {State::starting, State::idle}) {
    for (const Evidence evidence : {Evidence::unknown, Evidence::no_job}) {
      EXPECT_EQ(decided(exited_cleanly(state), clean_exit(Hub::absent, evidence)),
                "failed{process_exited_unexpectedly} replace");
    }
  }
}

TEST(DecideRule6, AnUncleanExitIsNotCompletedWhateverTheEvidence) {
  EXPECT_EQ(decided(attempt(State::busy), observation(Env::exited, Hub::absent, Evidence::ran)), "orphaned");
  EXPECT_EQ(decided(attempt(State::idle), observation(Env::exited, Hub::absent, Evidence::ran)),
            "failed{process_exited_unexpectedly} replace");
}

TEST(DecideRule6, ALiveRunnerHasNotExitedWhateverIsJournalled) {
  EXPECT_EQ(decided(exited_cleanly(State::busy), observation(Env::running, Hub::absent, Evidence::ran)),
            "adopt");
}

// ---- Rule 7

TEST(DecideRule7, AWithdrawnAssignmentGoesBackToIdle) {
  EXPECT_EQ(decided(attempt(State::busy), observation(Env::running, Hub::idle, Evidence::no_job)), "to idle");
  EXPECT_EQ(decided(attempt(State::busy), observation(Env::starting, Hub::idle, Evidence::no_job)),
            "to idle");
}

TEST(DecideRule7, WithAWorkersLogItStaysBusyWhateverGithubSays) {
  for (const Hub github : {Hub::absent, Hub::offline, Hub::idle, Hub::busy}) {
    EXPECT_EQ(decided(attempt(State::busy), observation(Env::running, github, Evidence::ran)), "adopt");
  }
}

TEST(DecideRule7, NeitherUnknownEvidenceNorAnotherAnswerTakesAJobBack) {
  EXPECT_EQ(decided(attempt(State::busy), observation(Env::running, Hub::idle, Evidence::unknown)), "adopt");
  for (const Hub github : {Hub::absent, Hub::offline, Hub::busy}) {
    EXPECT_EQ(decided(attempt(State::busy), observation(Env::running, github, Evidence::no_job)), "adopt");
  }
}

TEST(DecideRule7, ComesBeforeTheJobTimeout) {
  Attempt made = attempt(State::busy);
  made.policy.timeouts.job = Millis{1};
  EXPECT_EQ(decided(made, observation(Env::running, Hub::idle, Evidence::no_job), kDay), "to idle");
}

// ---- Rule 8

TEST(DecideRule8, ALostSecretExpiresAtOnceWithOneDeregistrationAndAReplacement) {
  for (const State state : {State::allocated, State::jit_received}) {
    for (const Env environment : {Env::prepared, Env::missing}) {
      for (const Hub github : {Hub::offline, Hub::idle}) {
        EXPECT_EQ(decided(attempt(state), observation(environment, github)),
                  "failed{jit_expired} deregister replace");
      }
    }
  }
  EXPECT_EQ(
      decided(attempt(State::jit_received, ProviderKind::isolated), observation(Env::prepared, Hub::offline)),
      "failed{jit_expired} deregister replace");
  EXPECT_EQ(decided(attempt(State::allocated), observation(Env::exited, Hub::offline)),
            "failed{jit_expired} deregister replace");
}

}  // namespace
}  // namespace agent::domain
