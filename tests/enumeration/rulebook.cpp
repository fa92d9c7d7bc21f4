#include "enumeration/rulebook.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

namespace enumeration {

namespace {

using Env = EnvironmentView;
using Hub = GithubView;
using enum State;

const std::map<State, std::set<State>>& edges(ProviderKind kind) {
  static const std::map<State, std::set<State>> native{
      {allocated, {jit_received, failed, orphaned}},
      {jit_received, {starting, failed, orphaned}},
      {starting, {idle, busy, failed, orphaned}},
      {idle, {busy, finished, failed, orphaned}},
      {busy, {idle, finished, failed, orphaned}},
      {finished, {cleaned}},
      {failed, {cleaned}},
      {orphaned, {cleaned}},
  };
  static const std::map<State, std::set<State>> isolated{
      {allocated, {preparing, failed, orphaned}},
      {preparing, {prepared, failed, orphaned}},
      {prepared, {jit_received, failed, orphaned}},
      {jit_received, {starting, failed, orphaned}},
      {starting, {idle, busy, failed, orphaned}},
      {idle, {busy, finished, failed, orphaned}},
      {busy, {idle, finished, failed, orphaned}},
      {finished, {destroying}},
      {failed, {destroying}},
      {orphaned, {destroying}},
      {destroying, {cleaned, cleanup_deferred}},
      {cleanup_deferred, {destroying}},
  };
  return kind == ProviderKind::native ? native : isolated;
}

struct Case {
  const Attempt& row;
  const Observation& seen;
  std::int64_t ms;

  ProviderKind kind() const { return row.policy.provider_kind; }
  bool native() const { return kind() == ProviderKind::native; }
  bool in(std::initializer_list<State> states) const {
    return std::find(states.begin(), states.end(), row.state) != states.end();
  }
  bool live() const { return !ended(row.state); }
  bool alive() const { return seen.environment == Env::starting || seen.environment == Env::running; }
  bool unknown() const { return seen.environment == Env::unknown; }
  bool dead() const { return !alive() && !unknown(); }
  bool hub(std::initializer_list<Hub> views) const {
    return std::find(views.begin(), views.end(), seen.github) != views.end();
  }
  bool listed() const { return hub({Hub::offline, Hub::idle, Hub::busy}); }
  bool answered() const { return seen.github != Hub::unreachable; }
  bool proof(Evidence evidence) const { return seen.evidence == evidence; }
  bool clean_now() const { return seen.environment == Env::exited && seen.clean; }
  bool left_cleanly() const { return dead() && (row.clean_exit || clean_now()); }
  bool intent() const { return row.termination.has_value(); }
  bool operators() const { return intent() && row.termination->kind == TerminationKind::by_operator; }
  bool rejected() const {
    const auto code = seen.exit_code ? seen.exit_code : row.exit_code;
    return code && (code == 3 || code == 4 || code == 7);
  }
  bool interrupted() const { return !native() && in({allocated, preparing, prepared}); }
};

Outcome completed() { return {.kind = OutcomeKind::completed_job, .reason = {}}; }
Outcome without_work() { return {.kind = OutcomeKind::exited_idle_without_work, .reason = {}}; }
Outcome lost() { return {.kind = OutcomeKind::orphaned, .reason = {}}; }
Outcome failure(FailureReason reason) { return {.kind = OutcomeKind::failed, .reason = reason}; }

Outcome meaning(TerminationKind kind) {
  switch (kind) {
    case TerminationKind::registration_timeout:
      return failure(FailureReason::terminated_after_registration_timeout);
    case TerminationKind::job_timeout: return failure(FailureReason::job_timed_out);
    case TerminationKind::by_operator: return failure(FailureReason::terminated_by_operator);
    default: return without_work();
  }
}

bool replaced(const Outcome& outcome) {
  static const std::set<FailureReason> kReplaced{
      FailureReason::jit_expired, FailureReason::process_exited_unexpectedly,
      FailureReason::runner_version_rejected, FailureReason::terminated_after_registration_timeout};
  return outcome.kind == OutcomeKind::failed && kReplaced.contains(*outcome.reason);
}

Decision end(const Case& c, const Outcome& outcome, bool remove_registration = false) {
  Conclude answer{.through = {},
                  .outcome = outcome,
                  .deregister_first = remove_registration,
                  .replace = replaced(outcome)};
  if (outcome.kind == OutcomeKind::completed_job) answer.through = way(c.kind(), c.row.state, busy);
  if (outcome.kind == OutcomeKind::exited_idle_without_work)
    answer.through = way(c.kind(), c.row.state, idle);
  return answer;
}

struct Row {
  const char* name;
  bool (*applies)(const Case&);
  Decision (*follows)(const Case&);
};

// One level is decided by exactly one of its rows or by none of them; the first level that decides counts.
using Level = std::vector<Row>;

bool job_seen(const Case& c) { return c.hub({Hub::busy}) || c.proof(Evidence::ran); }
bool has_intent(const Case& c) { return c.live() && c.intent(); }
bool carries_on(const Case& c) { return has_intent(c) && !(soft(c.row.termination->kind) && job_seen(c)); }

const Row kIntentWithdrawn{"5: a job withdraws an intent that deregisters first",
                           [](const Case& c) { return has_intent(c) && !carries_on(c); },
                           [](const Case&) -> Decision { return WithdrawTermination{}; }};
const Row kIntentMeant{"5: beside a dead environment an intent concludes",
                       [](const Case& c) { return carries_on(c) && c.dead(); },
                       [](const Case& c) { return end(c, meaning(c.row.termination->kind)); }};
const Row kIntentResumed{"5: beside a live environment a termination is resumed",
                         [](const Case& c) { return carries_on(c) && !c.dead(); },
                         [](const Case&) -> Decision { return ResumeTermination{}; }};
const Row kRunnerFirst{"1: a runner id that is new is recorded first",
                       [](const Case& c) { return !c.row.runner && c.seen.listed_runner; },
                       [](const Case& c) -> Decision { return RecordRunner{*c.seen.listed_runner}; }};
const Row kUnknown{
    "2: an unknown environment defers",
    [](const Case& c) { return c.live() && (c.unknown() || (c.native() && c.in({allocated}) && c.alive())); },
    [](const Case&) -> Decision { return Defer{}; }};

const std::vector<Level>& launching() {
  static const std::vector<Level> levels{
      {{"a launch here is left alone", [](const Case& c) { return !c.live() || !c.operators(); },
        [](const Case&) -> Decision { return Nothing{}; }}},
      {kRunnerFirst},
      {kUnknown},
      {kIntentWithdrawn, kIntentMeant, kIntentResumed},
  };
  return levels;
}

const Level& table() {
  static const Level rows{
      {"concluded, unknown: wait", [](const Case& c) { return !c.live() && c.unknown(); },
       [](const Case&) -> Decision { return Wait{}; }},
      {"concluded, native, alive: stop", [](const Case& c) { return !c.live() && c.native() && c.alive(); },
       [](const Case&) -> Decision { return Stop{}; }},
      {"concluded otherwise: clean",
       [](const Case& c) { return !c.live() && !c.unknown() && !(c.native() && c.alive()); },
       [](const Case&) -> Decision { return Clean{}; }},
      {"live, unreachable: defer", [](const Case& c) { return c.live() && !c.answered(); },
       [](const Case&) -> Decision { return Defer{}; }},
      {"allocated or jit_received, dead, busy: orphaned",
       [](const Case& c) {
         return c.in({allocated, jit_received}) && c.dead() && c.hub({Hub::busy});
       },
       [](const Case& c) { return end(c, lost()); }},
      {"allocated, dead, absent, past the hand-off",
       [](const Case& c) {
         return c.in({allocated}) && c.dead() && c.hub({Hub::absent}) && c.ms >= kHandoff;
       },
       [](const Case& c) { return end(c, failure(FailureReason::jit_request_failed)); }},
      {"jit_received, dead, absent, past the hand-off",
       [](const Case& c) {
         return c.in({jit_received}) && c.dead() && c.hub({Hub::absent}) && c.ms >= kHandoff;
       },
       [](const Case& c) { return end(c, failure(FailureReason::jit_expired)); }},
      {"allocated or jit_received, dead, absent, before the hand-off: wait",
       [](const Case& c) {
         return c.in({allocated, jit_received}) && c.dead() && c.hub({Hub::absent}) && c.ms < kHandoff;
       },
       [](const Case&) -> Decision { return Wait{}; }},
      {"starting, busy", [](const Case& c) { return c.in({starting}) && c.hub({Hub::busy}); },
       [](const Case&) -> Decision { return MoveTo{busy}; }},
      {"starting, idle", [](const Case& c) { return c.in({starting}) && c.hub({Hub::idle}); },
       [](const Case&) -> Decision { return MoveTo{idle}; }},
      {"starting, dead, not connected",
       [](const Case& c) {
         return c.in({starting}) && c.dead() && c.hub({Hub::absent, Hub::offline});
       },
       [](const Case& c) {
         return end(c, failure(c.rejected() ? FailureReason::runner_version_rejected
                                            : FailureReason::process_exited_unexpectedly));
       }},
      {"starting, alive, not connected, before the startup timeout",
       [](const Case& c) {
         return c.in({starting}) && c.alive() && c.hub({Hub::absent, Hub::offline}) && c.ms < kStartup;
       },
       [](const Case&) -> Decision { return Adopt{}; }},
      {"starting, alive, not connected, from the startup timeout on",
       [](const Case& c) {
         return c.in({starting}) && c.alive() && c.hub({Hub::absent, Hub::offline}) && c.ms >= kStartup;
       },
       [](const Case& c) -> Decision {
         if (c.proof(Evidence::ran)) return MoveTo{busy};
         return Terminate{TerminationKind::registration_timeout};
       }},
      {"idle, busy", [](const Case& c) { return c.in({idle}) && c.hub({Hub::busy}); },
       [](const Case&) -> Decision { return MoveTo{busy}; }},
      {"idle, dead, idle", [](const Case& c) { return c.in({idle}) && c.dead() && c.hub({Hub::idle}); },
       [](const Case& c) {
         return end(c, c.rejected() ? failure(FailureReason::runner_version_rejected) : lost());
       }},
      {"idle, alive, listed, before the idle timeout",
       [](const Case& c) {
         return c.in({idle}) && c.alive() && c.hub({Hub::idle, Hub::offline}) && c.ms < kIdle;
       },
       [](const Case&) -> Decision { return Adopt{}; }},
      {"idle, alive, listed, from the idle timeout on",
       [](const Case& c) {
         return c.in({idle}) && c.alive() && c.hub({Hub::idle, Hub::offline}) && c.ms >= kIdle;
       },
       [](const Case& c) -> Decision {
         if (!c.seen.surplus_allowed) return Adopt{};
         if (c.proof(Evidence::ran)) return MoveTo{busy};
         return Terminate{TerminationKind::surplus};
       }},
      {"idle, alive, absent, before the idle timeout",
       [](const Case& c) { return c.in({idle}) && c.alive() && c.hub({Hub::absent}) && c.ms < kIdle; },
       [](const Case&) -> Decision { return Adopt{}; }},
      {"idle, alive, absent, from the idle timeout on",
       [](const Case& c) { return c.in({idle}) && c.alive() && c.hub({Hub::absent}) && c.ms >= kIdle; },
       [](const Case& c) -> Decision {
         if (c.proof(Evidence::ran)) return MoveTo{busy};
         return Terminate{TerminationKind::idle_timeout};
       }},
      {"idle, dead, not connected",
       [](const Case& c) {
         return c.in({idle}) && c.dead() && c.hub({Hub::absent, Hub::offline});
       },
       [](const Case& c) {
         if (c.rejected()) return end(c, failure(FailureReason::runner_version_rejected));
         if (c.ms >= kIdle) return end(c, without_work());
         return end(c, failure(FailureReason::process_exited_unexpectedly));
       }},
      {"busy, alive, at the job timeout",
       [](const Case& c) {
         const bool limited = c.row.policy.timeouts.job.count() > 0;
         return c.in({busy}) && c.alive() && c.answered() && limited && c.ms >= kJob;
       },
       [](const Case&) -> Decision { return Terminate{TerminationKind::job_timeout}; }},
      {"busy, alive",
       [](const Case& c) {
         const bool limited = c.row.policy.timeouts.job.count() > 0;
         return c.in({busy}) && c.alive() && c.answered() && !(limited && c.ms >= kJob);
       },
       [](const Case&) -> Decision { return Adopt{}; }},
      {"busy, dead", [](const Case& c) { return c.in({busy}) && c.dead() && c.answered(); },
       [](const Case& c) { return end(c, lost()); }},
  };
  return rows;
}

const std::vector<Level>& supervising() {
  static const std::vector<Level> levels{
      {{"1: a cleaned attempt is left alone", [](const Case& c) { return c.in({cleaned}); },
        [](const Case&) -> Decision { return Nothing{}; }}},
      {kRunnerFirst},
      {{"1: a clean exit is recorded once",
        [](const Case& c) { return c.live() && c.clean_now() && !c.row.clean_exit; },
        [](const Case&) -> Decision { return RecordCleanExit{}; }}},
      {kUnknown},
      {{"3: an interrupted preparation fails", [](const Case& c) { return c.interrupted(); },
        [](const Case& c) {
          return end(c, failure(c.operators() ? FailureReason::terminated_by_operator
                                              : FailureReason::preparation_interrupted));
        }}},
      {{"4: a start that was not journalled",
        [](const Case& c) {
          const bool ran = c.alive() || c.seen.environment == Env::exited || c.left_cleanly();
          return c.in({jit_received}) && ran;
        },
        [](const Case&) -> Decision { return MoveTo{starting}; }}},
      {kIntentWithdrawn, kIntentMeant, kIntentResumed},
      {
          {"6: a job ran before anybody saw it",
           [](const Case& c) {
             return c.in({starting, idle}) && c.left_cleanly() && c.answered() && c.proof(Evidence::ran) &&
                    c.row.runner.has_value();
           },
           [](const Case& c) { return end(c, completed(), c.listed()); }},
          {"6: busy, a job ran",
           [](const Case& c) {
             return c.in({busy}) && c.left_cleanly() && c.answered() && c.proof(Evidence::ran);
           },
           [](const Case& c) { return end(c, completed(), c.listed()); }},
          {"6: busy, no job ran",
           [](const Case& c) {
             return c.in({busy}) && c.left_cleanly() && c.answered() && c.proof(Evidence::no_job);
           },
           [](const Case& c) { return end(c, without_work(), c.listed()); }},
          {"6: busy, no proof, absent",
           [](const Case& c) {
             return c.in({busy}) && c.left_cleanly() && c.hub({Hub::absent}) && c.proof(Evidence::unknown);
           },
           [](const Case& c) { return end(c, completed()); }},
      },
      {{"7: an assignment that was withdrawn",
        [](const Case& c) {
          return c.in({busy}) && c.alive() && c.hub({Hub::idle}) && c.proof(Evidence::no_job);
        },
        [](const Case&) -> Decision { return MoveTo{idle}; }}},
      {{"8: the secret is lost",
        [](const Case& c) {
          return c.in({allocated, jit_received}) && c.dead() && c.hub({Hub::offline, Hub::idle});
        },
        [](const Case& c) { return end(c, failure(FailureReason::jit_expired), true); }}},
      table(),
  };
  return levels;
}

}  // namespace

bool ended(State state) {
  static constexpr std::array kEnded{finished, failed, orphaned, destroying, cleanup_deferred, cleaned};
  return std::find(kEnded.begin(), kEnded.end(), state) != kEnded.end();
}

bool soft(TerminationKind kind) {
  return kind != TerminationKind::job_timeout && kind != TerminationKind::by_operator;
}

std::vector<State> way(ProviderKind kind, State from, State goal) {
  std::map<State, State> came_from;
  std::deque<State> open{from};
  while (!open.empty() && !came_from.contains(goal)) {
    const State here = open.front();
    open.pop_front();
    const auto next = edges(kind).find(here);
    if (next == edges(kind).end()) continue;
    for (const State to : next->second) {
      if (to != from && came_from.try_emplace(to, here).second) open.push_back(to);
    }
  }
  std::vector<State> path;
  if (from == goal || !came_from.contains(goal)) return path;
  for (State here = goal; here != from; here = came_from.at(here))
    path.insert(path.begin(), here);
  return path;
}

bool reachable(ProviderKind kind, State from, State to) { return from == to || !way(kind, from, to).empty(); }

Ruling rule(const Attempt& attempt, const Observation& seen, std::int64_t ms) {
  const Case c{attempt, seen, ms};
  Ruling ruling;
  for (const Level& level : seen.bring_up_here ? launching() : supervising()) {
    for (const Row& candidate : level) {
      if (!candidate.applies(c)) continue;
      ++ruling.matches;
      ruling.decision = candidate.follows(c);
      ruling.rule = candidate.name;
    }
    if (ruling.matches > 0) return ruling;
  }
  return ruling;
}

}  // namespace enumeration
