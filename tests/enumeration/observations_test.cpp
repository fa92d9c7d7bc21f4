// Every row beside everything that a look can find: one decision, that of the rules, and a step of the
// machine that keeps what must always hold.
#include <gtest/gtest.h>

#include "enumeration/laws.hpp"
#include "enumeration/ledger.hpp"

namespace enumeration {
namespace {

using lifecycle::Step;

// One observation and what the machine made of it.
struct Seen {
  const Attempt& was;
  const Observation& seen;
  std::int64_t ms;
  const Step& step;

  const Attempt& is() const { return step.attempt; }
  bool alive() const {
    return seen.environment == EnvironmentView::starting || seen.environment == EnvironmentView::running;
  }
  // A process beside a native attempt that was never registered is not provably its own.
  bool unknown() const {
    return seen.environment == EnvironmentView::unknown ||
           (native() && was.state == State::allocated && alive());
  }
  bool dead() const { return !alive() && !unknown(); }
  bool concluded_now() const { return !ended(was.state) && ended(is().state); }
  bool orders(EffectKind kind) const { return !step.orders.empty() && step.orders.front().kind == kind; }
  bool has_job() const { return seen.github == GithubView::busy || seen.evidence == Evidence::ran; }
  bool hard_intent() const { return is().termination && !soft(is().termination->kind); }
  bool native() const { return was.policy.provider_kind == ProviderKind::native; }
  bool interrupted() const {
    return !native() &&
           (was.state == State::allocated || was.state == State::preparing || was.state == State::prepared);
  }
};

struct Rule {
  const char* name;
  bool (*holds)(const Seen&);
};

const Rule kRules[] = {
    {"a look cleans nothing",
     [](const Seen& s) { return s.was.state == State::cleaned || s.is().state != State::cleaned; }},
    {"no launch step follows from a look: nothing is registered or started twice",
     [](const Seen& s) { return s.step.orders.empty() || !launch_effect(s.step.orders[0].kind); }},
    {"unknown is never missing: it ends and moves nothing",
     [](const Seen& s) {
       const bool kept = s.is().state == s.was.state ||
                         (ended(s.was.state) && !s.native() && s.is().state != State::cleaned);
       return !s.unknown() || kept;
     }},
    {"an outage ends nothing but an interrupted preparation and what was meant to end and is dead",
     [](const Seen& s) {
       if (s.seen.github != GithubView::unreachable || !s.concluded_now()) return true;
       return s.interrupted() || (s.was.termination && s.dead());
     }},
    {"a native attempt frees its capacity only beside a dead environment",
     [](const Seen& s) { return !s.native() || !s.concluded_now() || s.dead(); }},
    {"an attempt that is alive is ended by no look, an interrupted preparation excepted",
     [](const Seen& s) { return !s.concluded_now() || s.dead() || s.interrupted(); }},
    {"a runner that has a job is neither stopped nor deregistered, a job timeout and the operator excepted",
     [](const Seen& s) {
       const bool busy = !ended(s.was.state) && !s.dead() && s.has_job();
       const bool ends = s.orders(EffectKind::stop) || s.orders(EffectKind::deregister);
       return !busy || !ends || s.hard_intent() || s.unknown() || s.seen.bring_up_here || s.concluded_now();
     }},
    {"a busy runner is stopped for its job timeout or the operator only",
     [](const Seen& s) {
       const bool made_now = !s.was.termination && s.is().termination;
       return s.was.state != State::busy || !made_now ||
              s.is().termination->kind == TerminationKind::job_timeout;
     }},
    {"an intent is withdrawn for a job only",
     [](const Seen& s) {
       return !s.was.termination || s.is().termination == s.was.termination || s.has_job();
     }},
    {"no timeout before its time",
     [](const Seen& s) { return s.ms != 0 || s.was.termination || !s.is().termination; }},
    {"no surplus below the minimum",
     [](const Seen& s) {
       const bool made_now = !s.was.termination && s.is().termination;
       return !made_now || s.is().termination->kind != TerminationKind::surplus || s.seen.surplus_allowed;
     }},
    {"an absence proves nothing while a request may still be carried out",
     [](const Seen& s) {
       constexpr std::int64_t kProof = 12 * 60'000;
       const bool made_now = s.is().absence_observed && !s.was.absence_observed;
       return !made_now || !s.is().unanswered_at || s.ms >= kProof - 5'000;
     }},
    {"a look settles no debt",
     [](const Seen& s) { return !s.was.deregistration_owed || s.is().deregistration_owed; }},
    {"a job is completed only if the listener left cleanly and GitHub answered",
     [](const Seen& s) {
       if (!s.concluded_now() || s.is().outcome->kind != OutcomeKind::completed_job) return true;
       return s.is().clean_exit && s.seen.github != GithubView::unreachable && s.dead() &&
              s.seen.evidence != Evidence::no_job;
     }},
    {"a look refuses no launch for good", [](const Seen& s) { return !s.step.refused_for_good; }},
    {"a launch of this process is left alone by all but the operator",
     [](const Seen& s) {
       const bool operators = s.was.termination && s.was.termination->kind == TerminationKind::by_operator;
       return !s.seen.bring_up_here || operators || s.is() == s.was;
     }},
};

class Observations {
 public:
  void over_everything() {
    for (const ProviderKind kind : kKinds) {
      for (const State state : kStates) {
        if (!exists_for(kind, state)) continue;
        for (const Fact fact : kFacts)
          over_rows(kind, state, fact);
      }
    }
    ledger_.close();
  }

 private:
  void over_rows(ProviderKind kind, State state, Fact fact) {
    Attempt attempt = row(kind, state, fact);
    for (const auto& intent : intents()) {
      attempt.termination = intent;
      set_pending(attempt, std::nullopt);
      over_looks(attempt, fact);
      for (const EffectKind effect : kEffects) {
        set_pending(attempt, effect);
        over_looks(attempt, fact);
      }
    }
  }

  void over_looks(const Attempt& attempt, Fact fact) {
    for (const EnvironmentView environment : kEnvironments) {
      for (const bool clean : {false, true}) {
        if (clean && environment != EnvironmentView::exited) continue;
        for (const GithubView github : kGithub) {
          for (const Evidence evidence : kEvidence) {
            Observation seen = observation(fact, environment, clean, github, evidence);
            seen.bring_up_here = lifecycle::in_bring_up(attempt);
            for (const std::int64_t ms : moments_of(attempt.state))
              check(attempt, seen, ms);
          }
        }
      }
    }
  }

  void check(const Attempt& attempt, const Observation& seen, std::int64_t ms) {
    ledger_.combination();
    const auto where = [&] {
      return describe(attempt) + "; " + describe(seen) + "; at " + std::to_string(ms);
    };
    const Decision decision = decide(attempt, seen, at(ms));
    const Ruling ruling = rule(attempt, seen, ms);
    if (ruling.matches == 0) ledger_.undecided(where);
    if (ruling.matches > 1) ledger_.doubled(where);
    if (ruling.matches == 1) ledger_.decided();
    if (ruling.decision && *ruling.decision != decision) {
      ledger_.violation(ruling.rule, [&] { return where() + " gave " + name_of(decision); });
    }
    ledger_.count(decision.index(), [&] { return name_of(decision); });

    const lifecycle::Event look{
        .attempt = attempt.id, .seq = 0, .body = event::Observed{.seen = seen, .listing_began = at(ms)}};
    const lifecycle::Context context{.now = at(ms)};
    const Step step = lifecycle::step(attempt, look, context);
    for (const Law& law : laws()) {
      if (!law.holds({attempt, step})) {
        ledger_.violation(law.name, [&] { return where() + " became " + describe(step.attempt); });
      }
    }
    for (const Rule& each : kRules) {
      if (!each.holds({attempt, seen, ms, step})) {
        ledger_.violation(each.name, [&] { return where() + " became " + describe(step.attempt); });
      }
    }
  }

  Ledger ledger_{
      "looks: states x intents x effects in flight x environments x GitHub x evidence x timeouts x "
      "facts, native and isolated"};
};

TEST(Enumeration, EveryLookHasOneDecisionThatTheRulesGive) { Observations().over_everything(); }

}  // namespace
}  // namespace enumeration
