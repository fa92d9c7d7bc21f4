// Every combination of what decide() can be given, checked against what must hold for all of them.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the lists read as the rules do
using Env = EnvironmentView;
using Hub = GithubView;

constexpr std::int64_t kHandoff = 120'000;
constexpr std::int64_t kStartup = 200'000;
constexpr std::int64_t kIdle = 300'000;
constexpr std::int64_t kJob = 3'600'000;
constexpr std::int64_t kMoments[] = {0,         kHandoff - 1, kHandoff, kStartup - 1, kStartup,
                                     kIdle - 1, kIdle,        kJob - 1, kJob};

enum class Runner { known, listed_first, never_seen };

struct Case {
  const Attempt& attempt;
  const Observation& seen;
  std::int64_t ms;
  Decision decision;

  template <class T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&decision);
  }
  template <class... T>
  [[nodiscard]] bool is() const {
    return (std::holds_alternative<T>(decision) || ...);
  }
  [[nodiscard]] ProviderKind kind() const { return attempt.policy.provider_kind; }
  [[nodiscard]] bool alive() const {
    return seen.environment == Env::running || seen.environment == Env::starting;
  }
  [[nodiscard]] bool dead() const { return !alive() && seen.environment != Env::unknown; }
  [[nodiscard]] bool listed() const { return seen.github != Hub::unreachable && seen.github != Hub::absent; }
  [[nodiscard]] bool operator_intent() const {
    return attempt.termination && attempt.termination->kind == TerminationKind::by_operator;
  }
  [[nodiscard]] bool preparing() const {
    return kind() == ProviderKind::isolated &&
           (attempt.state == State::allocated || attempt.state == State::preparing ||
            attempt.state == State::prepared);
  }
};

bool walks_to_its_end(const Case& c, const Conclude& end) {
  Attempt walker = c.attempt;
  for (const State state : end.through) {
    if (!transition(walker, state, at(c.ms)).ok()) return false;
  }
  return conclude(walker, end.outcome, at(c.ms)).ok();
}

bool termination_fits(const Case& c, TerminationKind kind) {
  switch (kind) {
    case TerminationKind::surplus:
      return c.attempt.state == State::idle && c.ms >= kIdle && c.seen.surplus_allowed;
    case TerminationKind::idle_timeout:
      return c.attempt.state == State::idle && c.ms >= kIdle && c.seen.github == Hub::absent;
    case TerminationKind::registration_timeout:
      return c.attempt.state == State::starting && c.ms >= kStartup && c.seen.github != Hub::idle;
    case TerminationKind::job_timeout: return c.attempt.state == State::busy && c.ms >= kJob;
    case TerminationKind::by_operator: return false;
  }
  return false;
}

bool same_pass(const Case& c) {
  const MoveTo* move = c.get<MoveTo>();
  return c.is<RecordRunner, RecordCleanExit, WithdrawTermination>() ||
         (move && move->state == State::starting);
}

void apply(Attempt& attempt, const Decision& decision, const Observation& seen, std::int64_t ms) {
  if (const auto* runner = std::get_if<RecordRunner>(&decision)) attempt.runner = runner->runner;
  if (std::holds_alternative<RecordCleanExit>(decision)) attempt.clean_exit = true;
  if (std::holds_alternative<RecordCleanExit>(decision)) attempt.exit_code = seen.exit_code;
  if (std::holds_alternative<WithdrawTermination>(decision)) attempt.termination.reset();
  if (const auto* move = std::get_if<MoveTo>(&decision)) {
    EXPECT_TRUE(transition(attempt, move->state, at(ms)).ok());
  }
}

// A pass asks again after each fact that it journalled: it must come to an end, and never undo what it did.
bool pass_settles(const Case& first) {
  if (!same_pass(first)) return true;
  Attempt attempt = first.attempt;
  bool withdrew = false;
  for (int call = 0; call < 6; ++call) {
    const Case c{attempt, first.seen, first.ms, decide(attempt, first.seen, at(first.ms))};
    const Terminate* end = c.get<Terminate>();
    if (withdrew && end && deregisters_first(end->kind)) return false;
    if (!same_pass(c)) return true;
    withdrew = withdrew || c.is<WithdrawTermination>();
    apply(attempt, c.decision, first.seen, first.ms);
  }
  return false;
}

struct Invariant {
  const char* name;
  std::function<bool(const Case&)> holds;
};

const std::vector<Invariant>& invariants() {
  static const std::vector<Invariant> all{
      {"a cleaned attempt is left alone",
       [](const Case& c) { return c.attempt.state != State::cleaned || c.is<Nothing>(); }},
      {"a launch of this process is left alone unless an operator ends it",
       [](const Case& c) {
         const bool ended = is_live(c.attempt.state) && c.operator_intent();
         return !c.seen.bring_up_here || ended || c.is<Nothing>();
       }},
      {"only a cleaned or a launching attempt has nothing to do",
       [](const Case& c) {
         return !c.is<Nothing>() || c.attempt.state == State::cleaned || c.seen.bring_up_here;
       }},
      {"a new runner id comes first",
       [](const Case& c) {
         const bool is_new = !c.attempt.runner && c.seen.listed_runner && !c.is<Nothing>();
         return c.is<RecordRunner>() == is_new;
       }},
      {"an unknown environment concludes, stops, cleans and moves nothing",
       [](const Case& c) {
         return c.seen.environment != Env::unknown || c.is<Nothing, Defer, Wait, RecordRunner>();
       }},
      {"what a live state may be told, and what a concluded one",
       [](const Case& c) {
         return is_live(c.attempt.state) ? !c.is<Stop, Clean>()
                                         : c.is<Nothing, RecordRunner, Wait, Stop, Clean>();
       }},
      {"only a concluded native attempt that is alive is stopped",
       [](const Case& c) { return !c.is<Stop>() || (c.kind() == ProviderKind::native && c.alive()); }},
      {"nothing that is alive or unknown is cleaned natively",
       [](const Case& c) { return !c.is<Clean>() || c.kind() == ProviderKind::isolated || c.dead(); }},
      {"an outage starts no termination and concludes nothing but interruptions and intents",
       [](const Case& c) {
         if (c.seen.github != Hub::unreachable) return true;
         if (c.is<Terminate>()) return false;
         return !c.is<Conclude>() || c.preparing() || c.attempt.termination.has_value();
       }},
      {"an outage moves nothing but a start that was not journalled",
       [](const Case& c) {
         const MoveTo* move = c.get<MoveTo>();
         return c.seen.github != Hub::unreachable || !move || move->state == State::starting;
       }},
      {"nothing alive is concluded, interrupted preparations excepted",
       [](const Case& c) {
         return !c.is<Conclude>() || c.dead() || (c.preparing() && !c.seen.bring_up_here);
       }},
      {"a busy runner that is alive is ended by its job timeout, an operator or an older intent only",
       [](const Case& c) {
         if (c.attempt.state != State::busy || !c.alive()) return true;
         const Terminate* end = c.get<Terminate>();
         return !c.is<Conclude, Stop>() && (!end || end->kind == TerminationKind::job_timeout) &&
                (!c.is<ResumeTermination>() || c.attempt.termination.has_value());
       }},
      {"no intent that deregisters first survives a job",
       [](const Case& c) {
         const bool job = c.seen.github == Hub::busy || c.seen.evidence == Evidence::ran;
         if (!c.is<ResumeTermination, WithdrawTermination>()) return true;
         const bool soft = c.attempt.termination && deregisters_first(c.attempt.termination->kind);
         return c.attempt.termination && c.is<WithdrawTermination>() == (soft && job);
       }},
      {"an intent is made for a live runner that has none, for its state and past its timeout",
       [](const Case& c) {
         const Terminate* end = c.get<Terminate>();
         return !end || (!c.attempt.termination && c.alive() && c.seen.github != Hub::unreachable &&
                         termination_fits(c, end->kind));
       }},
      {"evidence of a job ends nothing but by a job timeout",
       [](const Case& c) {
         const Terminate* end = c.get<Terminate>();
         return !end || c.seen.evidence != Evidence::ran || end->kind == TerminationKind::job_timeout;
       }},
      {"every move is a legal edge",
       [](const Case& c) {
         const MoveTo* move = c.get<MoveTo>();
         return !move || legal_edge(c.kind(), c.attempt.state, move->state);
       }},
      {"every conclusion is reached by legal edges",
       [](const Case& c) {
         const Conclude* end = c.get<Conclude>();
         return !end || walks_to_its_end(c, *end);
       }},
      {"a replacement follows from the outcome alone",
       [](const Case& c) {
         const Conclude* end = c.get<Conclude>();
         return !end || end->replace == wants_replacement(end->outcome);
       }},
      {"an idle end and a completed job are never replaced",
       [](const Case& c) {
         const Conclude* end = c.get<Conclude>();
         return !end || end->outcome.kind == OutcomeKind::failed || !end->replace;
       }},
      {"only what is listed is deregistered on the way out",
       [](const Case& c) {
         const Conclude* end = c.get<Conclude>();
         return !end || !end->deregister_first || c.listed();
       }},
      {"a completed job left cleanly, GitHub answered, and no evidence denies it",
       [](const Case& c) {
         const Conclude* end = c.get<Conclude>();
         if (!end || end->outcome.kind != OutcomeKind::completed_job) return true;
         return c.attempt.clean_exit && c.dead() && c.seen.github != Hub::unreachable &&
                c.seen.evidence != Evidence::no_job;
       }},
      {"a dead runner with an intent that nothing withdraws ends with the intent's meaning",
       [](const Case& c) {
         const Conclude* end = c.get<Conclude>();
         if (!end || !c.attempt.termination || (c.preparing() && !c.operator_intent())) return true;
         return end->outcome == termination_outcome(c.attempt.termination->kind);
       }},
      {"GitHub's busy is believed before a silent process",
       [](const Case& c) {
         const bool early = c.attempt.state == State::starting || c.attempt.state == State::idle;
         const Conclude* end = c.get<Conclude>();
         if (!early || c.seen.github != Hub::busy || c.attempt.termination || !end) return true;
         return end->outcome.kind == OutcomeKind::completed_job;
       }},
      {"a pass settles and never renews what it withdrew", [](const Case& c) { return pass_settles(c); }},
  };
  return all;
}

struct Sweep {
  std::int64_t combinations = 0;
  std::int64_t violations = 0;
  std::vector<std::int64_t> decisions = std::vector<std::int64_t>(std::variant_size_v<Decision>, 0);

  void check(const Attempt& attempt, const Observation& seen, std::int64_t ms) {
    const Case c{attempt, seen, ms, decide(attempt, seen, at(ms))};
    ++combinations;
    ++decisions[c.decision.index()];
    for (const Invariant& invariant : invariants()) {
      if (invariant.holds(c)) continue;
      if (++violations > 5) return;
      ADD_FAILURE() << invariant.name << ": " << to_string(c.kind()) << ' ' << to_string(attempt.state)
                    << " environment " << static_cast<int>(seen.environment) << " clean " << seen.clean
                    << " github " << static_cast<int>(seen.github) << " evidence "
                    << static_cast<int>(seen.evidence) << " intent "
                    << (attempt.termination ? to_string(attempt.termination->kind) : "none") << " bring-up "
                    << seen.bring_up_here << " clean before " << attempt.clean_exit << " at " << ms
                    << " gave " << describe(c.decision);
    }
  }
};

bool exists_for(ProviderKind kind, State state) {
  return kind == ProviderKind::isolated || (state != State::preparing && state != State::prepared &&
                                            state != State::destroying && state != State::cleanup_deferred);
}

// Each step of the sweep fixes one input and hands on to the next.
void over_observations(Sweep& sweep, const Attempt& attempt, bool listed) {
  Observation seen;
  if (listed) seen.listed_runner = RunnerId{7};
  for (const Env environment : kEnvironments) {
    for (const bool clean : {false, true}) {
      if (clean && environment != Env::exited) continue;
      for (const Hub github : kGithub) {
        for (const Evidence evidence : kEvidence) {
          for (const bool bring_up : {false, true}) {
            for (const bool surplus : {false, true}) {
              for (const bool rejected : {false, true}) {
                seen.environment = environment;
                seen.clean = clean;
                seen.github = github;
                seen.evidence = evidence;
                seen.bring_up_here = bring_up;
                seen.surplus_allowed = surplus;
                seen.exit_code = rejected ? std::optional<std::int64_t>{7} : std::nullopt;
                for (const std::int64_t ms : kMoments)
                  sweep.check(attempt, seen, ms);
              }
            }
          }
        }
      }
    }
  }
}

void over_attempts(Sweep& sweep, Attempt attempt) {
  for (const Runner runner : {Runner::known, Runner::listed_first, Runner::never_seen}) {
    attempt.runner = runner == Runner::known ? std::optional{RunnerId{41}} : std::nullopt;
    for (const bool clean_before : {false, true}) {
      attempt.clean_exit = clean_before;
      attempt.termination.reset();
      over_observations(sweep, attempt, runner == Runner::listed_first);
      for (const TerminationKind kind : kTerminations) {
        attempt.termination = Termination{kind, TerminationStep::deregister};
        over_observations(sweep, attempt, runner == Runner::listed_first);
      }
    }
  }
}

TEST(DecideSweep, WhatMustAlwaysHoldHoldsForEveryCombination) {
  Sweep sweep;
  for (const ProviderKind kind : kProviders) {
    for (const State state : kStates) {
      if (!exists_for(kind, state)) continue;
      Attempt made = attempt(state, kind);
      made.policy.timeouts.startup = Millis{kStartup};
      made.policy.timeouts.job = Millis{kJob};
      over_attempts(sweep, std::move(made));
    }
  }
  std::cout << sweep.combinations << " combinations, " << invariants().size() << " invariants, "
            << sweep.violations << " violations\n";
  EXPECT_EQ(sweep.violations, 0);
  for (std::size_t i = 0; i < sweep.decisions.size(); ++i) {
    EXPECT_GT(sweep.decisions[i], 0) << "no combination leads to decision " << i;
  }
}

}  // namespace
}  // namespace agent::domain
