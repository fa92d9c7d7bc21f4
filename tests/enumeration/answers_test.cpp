// Every row beside everything that can be told it: answers in time, late and doubled ones, failures of every
// code, timers, the operator, a restart.
#include <gtest/gtest.h>

#include <array>

#include "enumeration/laws.hpp"
#include "enumeration/ledger.hpp"

namespace enumeration {
namespace {

using lifecycle::Step;

constexpr std::uint64_t kPendingSeq = 7;
constexpr std::uint64_t kOldSeq = 3;
constexpr std::int64_t kNow = 60'000;

constexpr std::array kCodes{ErrorCode::invalid,     ErrorCode::not_found,    ErrorCode::exists,
                            ErrorCode::retry,       ErrorCode::cancelled,    ErrorCode::deadline,
                            ErrorCode::unsupported, ErrorCode::denied,       ErrorCode::unauthorized,
                            ErrorCode::unreachable, ErrorCode::bad_response, ErrorCode::busy,
                            ErrorCode::full,        ErrorCode::corrupt,      ErrorCode::internal};

// What a row remembers of before; one of them at a time.
enum class Past { plain, without_process, unanswered, removed, absent, replacing };
constexpr std::array kPasts{Past::plain,   Past::without_process, Past::unanswered,
                            Past::removed, Past::absent,          Past::replacing};

// Which tries failed before.
enum class Tries { none, launch_due, launch_waits, launch_last, cleanup_due, cleanup_waits, removal_waits };
constexpr std::array kTries{Tries::none,        Tries::launch_due,    Tries::launch_waits, Tries::launch_last,
                            Tries::cleanup_due, Tries::cleanup_waits, Tries::removal_waits};

enum class Will { launch, no_demand, no_launches };
constexpr std::array kWills{Will::launch, Will::no_demand, Will::no_launches};

bool before_handoff(State state) {
  return state == State::allocated || state == State::preparing || state == State::prepared ||
         state == State::jit_received;
}

// Nothing for rows that no history leads to.
std::optional<Attempt> make(ProviderKind kind, State state, Past past, Tries tries) {
  const bool over = ended(state);
  Attempt made = row(kind, state, past == Past::unanswered ? Fact::unanswered : Fact::plain);
  const bool held =
      kind == ProviderKind::native && past != Past::without_process && state != State::allocated;
  if (held) made.process = ProcessIdentity{.pid = 42, .start_token = 1, .boot_id = BootId{"boot"}};
  if (past == Past::without_process && (kind == ProviderKind::isolated || state == State::allocated))
    return std::nullopt;
  if ((past == Past::removed || past == Past::absent || past == Past::replacing) && !over)
    return std::nullopt;
  if (past == Past::removed) made.environment_removed = true;
  if (past == Past::replacing) made.replacement_wanted = true;
  if (past == Past::absent) {
    made.absence_observed = true;
    made.deregistration_owed = false;
  }
  const bool launch =
      tries == Tries::launch_due || tries == Tries::launch_waits || tries == Tries::launch_last;
  if (launch && (!before_handoff(state) || made.process || state == State::preparing)) return std::nullopt;
  if (launch && kind == ProviderKind::isolated && state == State::jit_received) return std::nullopt;
  switch (tries) {
    case Tries::none: break;
    case Tries::launch_due: made.launch_retry = Retry{1, at(kNow - 1)}; break;
    case Tries::launch_waits: made.launch_retry = Retry{1, at(kNow + 1)}; break;
    case Tries::launch_last: made.launch_retry = Retry{2, at(kNow)}; break;
    case Tries::cleanup_due: made.cleanup_retry = Retry{3, at(kNow)}; break;
    case Tries::cleanup_waits: made.cleanup_retry = Retry{3, at(kNow + 1)}; break;
    case Tries::removal_waits: made.deregistration_retry = Retry{2, at(kNow + 1)}; break;
  }
  return made;
}

std::vector<lifecycle::EventBody> successes(EffectKind kind) {
  using event::Removal;
  switch (kind) {
    case EffectKind::acquire_package: return {event::Acquired{PackageDigest{"d"}, false}};
    case EffectKind::materialize: return {event::Materialized{}};
    case EffectKind::prepare: return {event::Prepared{EnvironmentId{"e"}}, event::Prepared{std::nullopt}};
    case EffectKind::register_runner: return {event::Registered{RunnerId{41}}};
    case EffectKind::spawn_held:
      return {event::Held{{.pid = 42, .start_token = 1, .boot_id = BootId{"boot"}}}};
    case EffectKind::release: return {event::Started{}};
    case EffectKind::stop: return {event::Stopped{}};
    case EffectKind::destroy: return {event::Destroyed{}};
    case EffectKind::deregister:
      return {event::Deregistered{Removal::gone, std::nullopt},
              event::Deregistered{Removal::gone, RunnerId{41}},
              event::Deregistered{Removal::gone, RunnerId{9}},
              event::Deregistered{Removal::not_listed, std::nullopt},
              event::Deregistered{Removal::busy, std::nullopt},
              event::Deregistered{Removal::busy, RunnerId{9}}};
    case EffectKind::scrub: return {event::Scrubbed{}};
  }
  return {};
}

// One thing that the machine was told, and what it made of it.
struct Told {
  const Attempt& was;
  const lifecycle::Event& what;
  Will will;
  const Step& step;

  const Attempt& is() const { return step.attempt; }
  Change change() const { return {was, step}; }
  bool orders(EffectKind kind) const { return change().orders(kind); }
  bool orders_launch() const { return !step.orders.empty() && launch_effect(step.orders[0].kind); }
  bool native() const { return change().native(); }
  bool concluded_now() const { return change().concluded_now(); }
  bool timely() const { return was.pending && what.seq == was.pending->seq; }
  bool late() const { return what.seq != 0 && !timely(); }
  bool answers(EffectKind kind) const { return timely() && was.pending->kind == kind; }
  template <class T>
  const T* is_a() const {
    return std::get_if<T>(&what.body);
  }
  const event::Failed* failed() const { return timely() ? is_a<event::Failed>() : nullptr; }
  const event::Deregistered* removal() const { return timely() ? is_a<event::Deregistered>() : nullptr; }
  bool launch_is_due() const {
    return was.launch_retry.tries > 0 && was.launch_retry.due.boot_ms <= at(kNow).boot_ms;
  }
};

struct Rule {
  const char* name;
  bool (*holds)(const Told&);
};

const Rule kRules[] = {
    {"an answer that nobody waits for changes no fact, state or intent",
     [](const Told& t) {
       if (!t.late() || t.launch_is_due()) return true;
       const bool late_runner = t.is_a<event::Registered>() && ended(t.was.state) && !t.was.runner;
       const bool deferred = !t.native() && t.was.state != State::cleaned && ended(t.was.state);
       return (t.is().state == t.was.state || deferred) && (t.is().runner == t.was.runner || late_runner) &&
              t.is().process == t.was.process && t.is().environment == t.was.environment &&
              t.is().package == t.was.package && t.is().termination == t.was.termination &&
              t.is().outcome == t.was.outcome &&
              (t.is().unanswered_at == t.was.unanswered_at || t.is_a<event::Registered>());
     }},
    {"a registration that comes too late is a debt",
     [](const Told& t) {
       const bool unwanted = t.is_a<event::Registered>() && ended(t.was.state);
       return !unwanted || t.is().deregistration_owed || t.is().absence_observed;
     }},
    {"a registration is asked for once, or again only after the name was looked up",
     [](const Told& t) {
       if (!t.orders(EffectKind::register_runner)) return true;
       const auto* removal = t.removal();
       const bool looked_up = removal && removal->removal != event::Removal::busy;
       return !t.was.jit_requested_at || looked_up;
     }},
    {"a registration is asked for after everything else is prepared",
     [](const Told& t) {
       if (!t.orders(EffectKind::register_runner)) return true;
       return t.is().state == (t.native() ? State::allocated : State::prepared) && t.is().package;
     }},
    {"the secret is handed over once: right after it came, or after the process is held",
     [](const Told& t) {
       if (!t.orders(EffectKind::release)) return true;
       const bool came = t.native() ? t.answers(EffectKind::spawn_held) && t.is_a<event::Held>()
                                    : t.answers(EffectKind::register_runner) && t.is_a<event::Registered>();
       return came && t.is().state == State::jit_received;
     }},
    {"no process is held for a sandbox, and no second one beside a known one",
     [](const Told& t) { return !t.orders(EffectKind::spawn_held) || (t.native() && !t.was.process); }},
    {"a restart resumes no launch, and what was asked for stays unanswered",
     [](const Told& t) {
       if (!t.is_a<event::Resumed>()) return true;
       const bool asked = t.was.pending && t.was.pending->kind == EffectKind::register_runner;
       return !t.orders_launch() && (!asked || t.is().unanswered_at) && t.is().launch_retry.tries == 0;
     }},
    {"a restart concludes nothing and makes clean-up due",
     [](const Told& t) {
       if (!t.is_a<event::Resumed>()) return true;
       const bool works = ended(t.was.state) && t.was.state != State::cleaned;
       return !t.concluded_now() && (!works || !t.step.orders.empty());
     }},
    {"a timer that is not due does nothing",
     [](const Told& t) {
       const bool waits = t.was.pending || (!ended(t.was.state) && !t.was.termination &&
                                            t.was.launch_retry == Retry{1, at(kNow + 1)});
       return !t.is_a<event::Timer>() || !waits || t.is() == t.was;
     }},
    {"an attempt with a process ends by a proven stop, or if its gate says that nothing ran, or by the "
     "operator's proof",
     [](const Told& t) {
       if (!t.concluded_now() || !t.was.process || t.is_a<event::Forgotten>()) return true;
       const bool nothing_ran = t.answers(EffectKind::release) && t.failed() && !t.failed()->process_existed;
       return nothing_ran || (t.answers(EffectKind::stop) && t.is_a<event::Stopped>());
     }},
    {"an attempt whose listener may run is not ended by the operator's word alone",
     [](const Told& t) {
       const bool spawning = t.was.pending && (t.was.pending->kind == EffectKind::spawn_held ||
                                               t.was.pending->kind == EffectKind::release);
       return !t.is_a<event::OperatorStop>() || !t.concluded_now() || (!spawning && !t.was.process);
     }},
    {"the operator's word is journalled",
     [](const Told& t) {
       if (!t.is_a<event::OperatorStop>() || ended(t.was.state)) return true;
       return t.is().termination && !soft(t.is().termination->kind);
     }},
    {"a proven stop ends what an intent meant to end, and nothing else",
     [](const Told& t) {
       if (!t.answers(EffectKind::stop) || !t.is_a<event::Stopped>() || ended(t.was.state)) return true;
       return t.concluded_now() == t.was.termination.has_value();
     }},
    {"only a proven removal cleans",
     [](const Told& t) {
       const bool cleaned_now = t.was.state != State::cleaned && t.is().state == State::cleaned;
       return !cleaned_now || (t.answers(EffectKind::scrub) && t.is_a<event::Scrubbed>());
     }},
    {"only a proof says that an environment is gone",
     [](const Told& t) {
       const bool gone_now = !t.was.environment_removed && t.is().environment_removed;
       return !gone_now || t.is_a<event::Forgotten>() ||
              (t.answers(EffectKind::destroy) && t.is_a<event::Destroyed>());
     }},
    {"what the operator proved gone has ended, unless its launch goes on here",
     [](const Told& t) {
       if (!t.is_a<event::Forgotten>() || lifecycle::in_bring_up(t.was)) return true;
       return ended(t.is().state) && (t.is().environment_removed || t.was.state == State::cleaned);
     }},
    {"the operator's proof disturbs no launch",
     [](const Told& t) {
       return !t.is_a<event::Forgotten>() || !lifecycle::in_bring_up(t.was) || t.is() == t.was ||
              t.was.launch_retry.tries > 0;
     }},
    {"a debt is settled by GitHub's answer only, and not while a request may still be carried out",
     [](const Told& t) {
       if (!t.was.deregistration_owed || t.is().deregistration_owed) return true;
       const auto* removal = t.removal();
       return removal && removal->removal != event::Removal::busy && !t.is().unanswered_at;
     }},
    {"a busy answer ends no runner: an intent that may be withdrawn is, and nothing is stopped",
     [](const Told& t) {
       const auto* removal = t.removal();
       const bool busy = removal && removal->removal == event::Removal::busy;
       if (!busy || ended(t.was.state) || !t.was.termination || !soft(t.was.termination->kind)) return true;
       return !t.is().termination && t.step.orders.empty() && !ended(t.is().state);
     }},
    {"a removal that GitHub granted is followed by the stop",
     [](const Told& t) {
       const auto* removal = t.removal();
       const bool granted = removal && removal->removal != event::Removal::busy;
       if (!granted || ended(t.was.state) || !t.was.termination) return true;
       return t.orders(EffectKind::stop);
     }},
    {"a termination never goes on while GitHub does not answer",
     [](const Told& t) {
       if (!t.answers(EffectKind::deregister) || !t.failed() || ended(t.was.state) || !t.was.termination)
         return true;
       return t.step.orders.empty() && t.is().termination == t.was.termination;
     }},
    {"what failed is not tried again at once",
     [](const Told& t) {
       if (!t.failed() || t.step.orders.empty()) return true;
       return t.step.orders[0].kind != t.was.pending->kind || t.concluded_now();
     }},
    {"a failed stop, destruction or removal ends nothing and is counted",
     [](const Told& t) {
       const bool ending =
           t.answers(EffectKind::stop) || t.answers(EffectKind::destroy) || t.answers(EffectKind::scrub);
       if (!ending || !t.failed()) return true;
       return !t.concluded_now() && t.is().cleanup_retry.tries == t.was.cleanup_retry.tries + 1;
     }},
    {"a sandbox that is not proven gone is deferred",
     [](const Told& t) {
       const bool removes = t.answers(EffectKind::destroy) || t.answers(EffectKind::scrub);
       if (!removes || !t.failed() || t.was.state != State::destroying) return true;
       return t.is().state == State::cleanup_deferred;
     }},
    {"launch tries are bounded, and each ends at once when nobody wants it any more",
     [](const Told& t) {
       if (t.is().launch_retry.tries > 3) return false;
       const bool launching = t.failed() && launch_effect(t.was.pending->kind) && !ended(t.was.state) &&
                              t.was.pending->kind != EffectKind::release;
       return !launching || t.will == Will::launch || ended(t.is().state);
     }},
    {"a launch step is taken again only while somebody wants it",
     [](const Told& t) { return !t.is_a<event::Timer>() || !t.orders_launch() || t.will == Will::launch; }},
    {"a policy is held for a refusal of a launch only, which ended it",
     [](const Told& t) {
       return !t.step.refused_for_good ||
              (t.failed() && launch_effect(t.was.pending->kind) && t.concluded_now());
     }},
    {"a live attempt is deregistered for an intent, or to look up its name before another request",
     [](const Told& t) {
       if (!t.orders(EffectKind::deregister) || ended(t.is().state)) return true;
       if (t.is().termination) return t.is().termination->step == TerminationStep::deregister;
       return t.is().jit_requested_at && before_handoff(t.is().state);
     }},
};

// What came of it: an end, an order, a move, a fact on record, or nothing.
constexpr std::size_t kEnds = 0, kNothing = 1, kRecords = 2, kMoves = 10, kOrders = 30;

std::size_t class_of(const Told& t) {
  if (t.concluded_now()) return kEnds;
  if (!t.step.orders.empty()) return kOrders + static_cast<std::size_t>(t.step.orders[0].kind);
  if (t.is().state != t.was.state) return kMoves + static_cast<std::size_t>(t.is().state);
  return t.is() == t.was ? kNothing : kRecords;
}

std::string name_of(std::size_t answer) {
  if (answer >= kOrders) return "orders " + std::string{to_string(static_cast<EffectKind>(answer - kOrders))};
  if (answer >= kMoves) return "moves it to " + std::string{to_string(static_cast<State>(answer - kMoves))};
  static constexpr const char* kWords[] = {"ends it", "nothing", "records a fact"};
  return kWords[answer];
}

std::string describe_event(const lifecycle::Event& what) {
  std::string text =
      "event " + std::to_string(what.body.index()) + " with number " + std::to_string(what.seq);
  if (const auto* failed = std::get_if<event::Failed>(&what.body)) {
    text += " " + std::string{to_string(failed->code)};
    if (failed->process_existed) text += " (a process existed)";
  }
  return text;
}

class Answers {
 public:
  void over_everything() {
    for (const ProviderKind kind : kKinds) {
      for (const State state : kStates) {
        if (!exists_for(kind, state)) continue;
        for (const Past past : kPasts) {
          for (const Tries tries : kTries) {
            if (auto made = make(kind, state, past, tries)) over_rows(*made);
          }
        }
      }
    }
    ledger_.close();
  }

 private:
  void over_rows(Attempt& attempt) {
    for (const auto& intent : intents()) {
      attempt.termination = intent;
      set_pending(attempt, std::nullopt);
      over_events(attempt);
      for (const EffectKind effect : kEffects) {
        set_pending(attempt, effect);
        over_events(attempt);
      }
    }
  }

  void over_events(const Attempt& attempt) {
    tell(attempt, 0, event::Timer{});
    tell(attempt, 0, event::OperatorStop{});
    tell(attempt, 0, event::Resumed{});
    tell(attempt, 0, event::Forgotten{});
    for (const EffectKind effect : kEffects) {
      for (const auto& body : successes(effect))
        tell(attempt, kOldSeq, body);
    }
    tell(attempt, kOldSeq, event::Failed{.code = ErrorCode::deadline});
    if (!attempt.pending || !fits(attempt)) return;
    for (const auto& body : successes(attempt.pending->kind))
      tell(attempt, kPendingSeq, body);
    for (const ErrorCode code : kCodes) {
      tell(attempt, kPendingSeq, event::Failed{.code = code});
      if (attempt.pending->kind == EffectKind::release)
        tell(attempt, kPendingSeq, event::Failed{.code = code, .retry_after = {}, .process_existed = true});
    }
  }

  // Where an intent is made; it does not outlive its state.
  static bool made_in(State state, const std::optional<Termination>& intent) {
    if (!intent || ended(state)) return true;
    switch (intent->kind) {
      case TerminationKind::surplus:
      case TerminationKind::idle_timeout: return state == State::idle;
      case TerminationKind::registration_timeout: return state == State::starting;
      case TerminationKind::job_timeout: return state == State::busy;
      case TerminationKind::by_operator: return true;
    }
    return true;
  }

  // An answer can only come to an effect that the row's state may have ordered; a launch's answer also after
  // the end.
  static bool fits(const Attempt& attempt) {
    const bool over = ended(attempt.state);
    const bool native = attempt.policy.provider_kind == ProviderKind::native;
    const bool asked = attempt.jit_requested_at.has_value();
    switch (attempt.pending->kind) {
      case EffectKind::acquire_package:
      case EffectKind::materialize: return over || (attempt.state == State::allocated && !asked);
      case EffectKind::prepare:
        return over || (attempt.state == (native ? State::allocated : State::preparing) && !asked);
      case EffectKind::register_runner:
        return over || attempt.state == (native ? State::allocated : State::prepared);
      case EffectKind::spawn_held:
        return native && !attempt.process && (over || attempt.state == State::jit_received);
      case EffectKind::release:
        return (over || attempt.state == State::jit_received) && (attempt.process || !native);
      case EffectKind::stop: return over || attempt.termination || !before_handoff(attempt.state);
      case EffectKind::deregister: return true;
      case EffectKind::destroy: return over;
      case EffectKind::scrub: return over && attempt.environment_removed;
    }
    return false;
  }

  void tell(const Attempt& attempt, std::uint64_t seq, lifecycle::EventBody body) {
    const lifecycle::Event what{.attempt = attempt.id, .seq = seq, .body = std::move(body)};
    for (const Will will : kWills) {
      ledger_.combination();
      const lifecycle::Context context{.now = at(kNow),
                                       .demand_persists = will != Will::no_demand,
                                       .launching_allowed = will != Will::no_launches};
      const Step step = lifecycle::step(attempt, what, context);
      const Told told{attempt, what, will, step};
      const auto where = [&] {
        return describe(attempt) + "; " + describe_event(what) + "; became " + describe(step.attempt);
      };
      if (step.orders.size() > 1) {
        ledger_.doubled(where);
      } else {
        ledger_.decided();
      }
      const std::size_t answer = class_of(told);
      ledger_.count(answer, [answer] { return name_of(answer); });
      for (const Law& law : laws()) {
        if (!law.holds(told.change())) ledger_.violation(law.name, where);
      }
      // The laws hold for every row, the rules for those that a history leads to.
      if (!made_in(attempt.state, attempt.termination)) continue;
      for (const Rule& each : kRules) {
        if (!each.holds(told)) ledger_.violation(each.name, where);
      }
    }
  }

  Ledger ledger_{
      "answers: states x intents x effects in flight x facts x tries x events in time and late x "
      "demand, native and isolated"};
};

TEST(Enumeration, EveryAnswerKeepsTheRules) { Answers().over_everything(); }

}  // namespace
}  // namespace enumeration
