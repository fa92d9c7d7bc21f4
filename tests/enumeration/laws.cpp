#include "enumeration/laws.hpp"

#include <algorithm>
#include <array>

namespace enumeration {

namespace {

template <class T>
bool kept(const std::optional<T>& was, const std::optional<T>& is) {
  return !was || was == is;
}

bool one_effect(const Change& c) {
  const Attempt& is = c.is();
  if (c.step.orders.empty()) return !is.pending || is.pending == c.was.pending;
  const lifecycle::Order& order = c.step.orders.front();
  return c.step.orders.size() == 1 && is.pending && is.pending->kind == order.kind &&
         is.pending->seq == order.seq && order.seq == c.was.next_seq && is.next_seq == c.was.next_seq + 1;
}

bool replaceable(const std::optional<Outcome>& outcome) {
  static constexpr std::array kReplaced{
      FailureReason::jit_expired, FailureReason::process_exited_unexpectedly,
      FailureReason::runner_version_rejected, FailureReason::terminated_after_registration_timeout};
  return outcome && outcome->reason &&
         std::find(kReplaced.begin(), kReplaced.end(), *outcome->reason) != kReplaced.end();
}

}  // namespace

bool launch_effect(EffectKind kind) {
  return kind == EffectKind::acquire_package || kind == EffectKind::materialize ||
         kind == EffectKind::prepare || kind == EffectKind::register_runner ||
         kind == EffectKind::spawn_held || kind == EffectKind::release;
}

const std::vector<Law>& laws() {
  static const std::vector<Law> all{
      {"at most one effect is ordered, none beside one in flight, and the row names it", one_effect},
      {"facts that are written once stay",
       [](const Change& c) {
         const Attempt& is = c.is();
         return c.was.id == is.id && c.was.generation == is.generation && c.was.policy == is.policy &&
                c.was.runtime == is.runtime && c.was.slot == is.slot && kept(c.was.package, is.package) &&
                kept(c.was.environment, is.environment) && kept(c.was.process, is.process) &&
                kept(c.was.runner, is.runner);
       }},
      {"states change along legal edges only",
       [](const Change& c) { return reachable(c.was.policy.provider_kind, c.was.state, c.is().state); }},
      {"a cleaned attempt keeps its end",
       [](const Change& c) {
         return c.was.state != State::cleaned ||
                (c.is().state == State::cleaned && c.is().changed_at == c.was.changed_at);
       }},
      {"what has ended stays ended, as what it ended",
       [](const Change& c) {
         return !ended(c.was.state) || (ended(c.is().state) && c.is().outcome == c.was.outcome);
       }},
      {"an outcome is there exactly after the end",
       [](const Change& c) { return c.is().outcome.has_value() == ended(c.is().state); }},
      {"nothing of a live attempt is destroyed or scrubbed",
       [](const Change& c) { return !c.removes() || ended(c.is().state); }},
      {"nothing of a cleaned attempt is touched again, its registration excepted",
       [](const Change& c) {
         return c.is().state != State::cleaned || c.step.orders.empty() || c.orders(EffectKind::deregister);
       }},
      {"a sandbox is touched in destroying only",
       [](const Change& c) { return !c.removes() || c.native() || c.is().state == State::destroying; }},
      {"nothing is scrubbed before the environment is proven gone",
       [](const Change& c) { return !c.orders(EffectKind::scrub) || c.is().environment_removed; }},
      {"what is proven gone is not asked for again",
       [](const Change& c) { return !c.orders(EffectKind::destroy) || !c.is().environment_removed; }},
      {"whoever ends needs its secret no more",
       [](const Change& c) { return !c.concluded_now() || c.step.drop_secret; }},
      {"only a failure of four kinds asks for a replacement, once, at the end",
       [](const Change& c) {
         const bool made_now = c.is().replacement_wanted && !c.was.replacement_wanted;
         return !made_now || (c.concluded_now() && replaceable(c.is().outcome));
       }},
      {"an end after a registration was asked for is owed its removal, unless its absence was proven",
       [](const Change& c) {
         const bool open = ended(c.is().state) && c.is().jit_requested_at && !c.is().absence_observed;
         const bool was_settled = ended(c.was.state) && !c.was.deregistration_owed;
         return !open || was_settled || c.is().deregistration_owed;
       }},
      {"a live runner is stopped for a journalled intent only, which has come to that step",
       [](const Change& c) {
         if (!c.orders(EffectKind::stop)) return true;
         return !ended(c.is().state) && c.is().termination &&
                c.is().termination->step == TerminationStep::stop;
       }},
      {"a live runner that is ended hard is not deregistered before it is stopped",
       [](const Change& c) {
         if (!c.orders(EffectKind::deregister) || ended(c.is().state)) return true;
         return !c.is().termination || soft(c.is().termination->kind);
       }},
      {"an intent that no job may withdraw is never withdrawn",
       [](const Change& c) {
         return !c.was.termination || soft(c.was.termination->kind) ||
                c.is().termination == c.was.termination;
       }},
      {"an intent that deregisters first begins with that, any other with the stop",
       [](const Change& c) {
         const bool made_now = !c.was.termination && c.is().termination;
         const bool first = made_now && c.is().termination->step == TerminationStep::deregister;
         return !made_now || first == soft(c.is().termination->kind);
       }},
      {"requests whose outcome nobody knows are forgotten by proof only",
       [](const Change& c) {
         const bool forgotten = c.was.unanswered_at && !c.is().unanswered_at;
         return c.is().jit_requests >= c.was.jit_requests && (!forgotten || c.was.jit_requests == 1);
       }},
  };
  return all;
}

}  // namespace enumeration
