#include "unit/journal/sample.hpp"

#include <limits>
#include <ostream>

namespace agent::domain {
void PrintTo(const Attempt& attempt, std::ostream* out) {
  *out << "attempt " << attempt.id.str() << " in state " << to_string(attempt.state);
}
}  // namespace agent::domain

namespace agent::journal::sample {

using domain::Attempt;
using domain::Instant;

namespace {

class Dice {
 public:
  explicit Dice(std::mt19937_64& random) : random_(random) {}
  bool coin() { return (random_() & 1) != 0; }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
  }
  // Ends of the range included.
  std::int64_t any() {
    switch (below(5)) {
      case 0: return 0;
      case 1: return std::numeric_limits<std::int64_t>::max();
      case 2: return std::numeric_limits<std::int64_t>::min();
      default: return static_cast<std::int64_t>(random_());
    }
  }
  std::uint64_t bits() { return below(4) == 0 ? std::numeric_limits<std::uint64_t>::max() : random_(); }
  std::string text() {
    static const char* const pieces[] = {"a", "Z", "'", "\"", "é", " ", "/", "\n", "%", "0", ";--", "漢"};
    std::string made;
    for (std::int64_t left = below(12); left > 0; --left)
      made += pieces[below(12)];
    return made;
  }
  template <class E>
  E word(E last) {
    return static_cast<E>(below(static_cast<std::int64_t>(last) + 1));
  }
  Instant instant() { return {any(), any(), domain::BootId{text()}}; }
  template <class T>
  std::optional<T> maybe(T value) {
    return coin() ? std::optional<T>{std::move(value)} : std::nullopt;
  }
  domain::Retry retry() { return {any(), instant()}; }

 private:
  std::mt19937_64& random_;
};

domain::Policy policy(Dice& dice) {
  static const char* const targets[] = {"octo/Repo", "octo/repo", "acme", "Acme"};
  domain::Policy made;
  made.name = domain::PolicyName{"policy-" + std::to_string(dice.below(3))};
  made.target = domain::Target::parse(targets[dice.below(4)]).value();
  made.gateway = domain::InstanceName{dice.text()};
  made.provider = domain::InstanceName{dice.text()};
  made.package_source = domain::InstanceName{dice.text()};
  made.provider_kind = dice.word(domain::ProviderKind::isolated);
  made.workspace = dice.word(domain::WorkspaceKind::persistent);
  made.root = dice.text();
  for (auto left = dice.below(4); left > 0; --left)
    made.labels.push_back(dice.text());
  made.runner_group_id = dice.any();
  made.min = dice.any();
  made.max = dice.any();
  made.priority = dice.any();
  made.state = dice.word(domain::PolicyState::draining);
  made.timeouts = {domain::Millis{dice.any()}, domain::Millis{dice.any()}, domain::Millis{dice.any()},
                   domain::Millis{dice.any()}, domain::Millis{dice.any()}};
  made.profile = {dice.text(), dice.any(), dice.any(), dice.any(), dice.any()};
  return made;
}

std::optional<domain::Outcome> outcome(Dice& dice) {
  if (dice.coin()) return std::nullopt;
  domain::Outcome made;
  made.kind = dice.word(domain::OutcomeKind::orphaned);
  if (made.kind == domain::OutcomeKind::failed)
    made.reason = dice.maybe(dice.word(domain::FailureReason::other));
  made.out_of_memory = dice.coin();
  return made;
}

void fill_changing(Attempt& a, Dice& dice) {
  a.state = dice.word(domain::State::cleaned);
  a.changed_at = dice.instant();
  a.absence_observed = dice.coin();
  a.clean_exit = dice.coin();
  a.exit_code = dice.maybe(dice.any());
  a.out_of_memory = dice.coin();
  a.ahead = dice.coin();
  a.pending = dice.maybe(domain::Pending{dice.word(domain::EffectKind::scrub), dice.bits(), dice.instant()});
  a.next_seq = dice.bits();
  a.termination = dice.maybe(domain::Termination{dice.word(domain::TerminationKind::by_operator),
                                                 dice.word(domain::TerminationStep::stop)});
  a.outcome = outcome(dice);
  a.replacement_wanted = dice.coin();
  a.environment_removed = dice.coin();
  a.deregistration_owed = dice.coin();
  a.launch_retry = dice.retry();
  a.cleanup_retry = dice.retry();
  a.deregistration_retry = dice.retry();
  a.times.granted = dice.instant();
  for (auto* time :
       {&a.times.demand_seen, &a.times.package_acquired, &a.times.materialized, &a.times.prepared,
        &a.times.registered, &a.times.held, &a.times.started, &a.residue_until}) {
    *time = dice.maybe(dice.instant());
  }
}

void fill_once(Attempt& a, Dice& dice) {
  if (!a.package) a.package = dice.maybe(domain::PackageDigest{dice.text()});
  if (!a.environment) a.environment = dice.maybe(domain::EnvironmentId{dice.text()});
  if (!a.runner) a.runner = dice.maybe(domain::RunnerId{dice.any()});
  if (!a.process)
    a.process = dice.maybe(domain::ProcessIdentity{dice.any(), dice.bits(), domain::BootId{dice.text()}});
  a.jit_requested_at = dice.maybe(dice.instant());
  a.jit_requests = static_cast<std::int64_t>(dice.bits() % 4);
  a.unanswered_at = dice.maybe(dice.instant());
}

std::string id_of(int number) {
  const std::string digits = std::to_string(number);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

}  // namespace

Instant instant(std::int64_t wall_ms) {
  return {wall_ms, wall_ms / 2, domain::BootId{"0f6a0000-0000-4000-8000-00000000b007"}};
}

Attempt attempt(int number) {
  Attempt a;
  a.id = domain::AttemptId{id_of(number)};
  a.generation = domain::Generation{"generation-" + std::to_string(number)};
  a.policy.name = domain::PolicyName{"build"};
  a.policy.target = domain::Target::parse("octo/repo").value();
  a.policy.labels = {"self-hosted", "linux", "x64"};
  a.runtime = "/srv/runners/" + std::to_string(number);
  a.changed_at = instant(1000 + number);
  a.times.granted = instant(1000 + number);
  return a;
}

Attempt settled(int number, std::int64_t ended_wall_ms) {
  Attempt a = attempt(number);
  a.state = domain::State::cleaned;
  a.outcome = domain::Outcome{domain::OutcomeKind::completed_job, {}, false};
  a.changed_at = instant(ended_wall_ms);
  return a;
}

Attempt random_attempt(int number, std::mt19937_64& random) {
  Dice dice{random};
  Attempt a;
  a.id = domain::AttemptId{id_of(number)};
  a.generation = domain::Generation{dice.text()};
  a.policy = policy(dice);
  a.runtime = "/srv/" + std::to_string(number) + dice.text();
  a.slot = dice.maybe(std::int64_t{number});
  fill_once(a, dice);
  fill_changing(a, dice);
  return a;
}

Attempt changed(const Attempt& before, std::mt19937_64& random) {
  Dice dice{random};
  Attempt a = before;
  fill_once(a, dice);
  fill_changing(a, dice);
  if (before.state == domain::State::cleaned) a.state = before.state;
  return a;
}

}  // namespace agent::journal::sample
