// What late children of a job make where its runtime was removed. It changes no state and holds nothing: it
// is removed, and looked for a while longer.
#include <algorithm>

#include "domain/backoff.hpp"
#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::Instant;
using domain::Millis;
using observe::Field;
using observe::Level;

namespace {

constexpr Millis kLookInterval{60'000};
// Longer than a removal may take: then the answer was lost, and the question is asked again.
constexpr Millis kAnswerWait{15 * 60'000};

}  // namespace

domain::Result<void> Engine::load_residues() {
  const Instant now = world_.now();
  auto rows = journal_.load_residues(now.wall_ms);
  if (!rows) return rows.error();
  for (const Attempt& row : *rows) {
    watch_residue(row);
    residues_.at(row.id).next_look = now;  // a restart makes it due
  }
  return {};
}

void Engine::watch_residue(const Attempt& attempt) {
  Residue& residue = residues_[attempt.id];
  residue.attempt = std::make_shared<const Attempt>(attempt);
  residue.next_look = domain::after(world_.now(), kLookInterval);
}

std::optional<Instant> Engine::next_sweep() const {
  const Instant now = world_.now();
  std::optional<Instant> soonest;
  for (const auto& [id, residue] : residues_) {
    if (!soonest || domain::elapsed(now, residue.next_look) < domain::elapsed(now, *soonest))
      soonest = residue.next_look;
  }
  return soonest;
}

void Engine::sweep_due() {
  if (draining_ || residues_.empty()) return;
  const Instant now = world_.now();
  std::set<std::string> taken;  // directories that are somebody's again
  for (const auto& [id, live] : live_) {
    if (live.attempt.state != domain::State::cleaned) taken.insert(live.attempt.runtime);
  }
  std::vector<AttemptPointer> due;
  for (auto entry = residues_.begin(); entry != residues_.end();) {
    Residue& residue = entry->second;
    if (domain::reached(*residue.attempt->residue_until, now)) {
      entry = residues_.erase(entry);
      continue;
    }
    if (domain::reached(residue.next_look, now) && !taken.contains(residue.attempt->runtime)) {
      residue.next_look = domain::after(now, kAnswerWait);
      due.push_back(residue.attempt);
    }
    ++entry;
  }
  if (!due.empty()) world_.sweep(due);
}

void Engine::take_residue(const std::vector<ResidueSeen>& seen) {
  const Instant now = world_.now();
  for (const ResidueSeen& each : seen) {
    const auto found = residues_.find(each.attempt);
    if (found == residues_.end()) continue;
    Residue& residue = found->second;
    residue.failures = each.found && !each.removed ? residue.failures + 1 : 0;
    const Millis wait = residue.failures > 0 ? domain::cleanup_wait(residue.failures) : kLookInterval;
    residue.next_look = domain::after(now, wait);
    if (!each.found) continue;
    log_.write(Level::warning, observe::Event::residue_found,
               {{Field::attempt, each.attempt.str()},
                {Field::policy, residue.attempt->policy.name.str()},
                {Field::removed, each.removed},
                {Field::wait_ms, static_cast<std::int64_t>(wait.count())}});
    extend_watch(residue);
  }
}

// A row that is still live is written with the turn; any other alone, and if that fails the next sighting
// tries again.
void Engine::extend_watch(Residue& residue) {
  const Instant until = domain::after(world_.now(), lifecycle::kResidueWatch);
  const auto live = live_.find(residue.attempt->id);
  if (live != live_.end()) {
    before_.try_emplace(live->first, live->second);
    live->second.attempt.residue_until = until;
    return;
  }
  Attempt row = *residue.attempt;
  row.residue_until = until;
  if (auto written = journal_.commit({.attempts = {row}, .events = {}}); !written) {
    log_.write(Level::warning, observe::Event::journal_failed,
               {{Field::attempt, row.id.str()}, {Field::message, written.error().message}});
  }
  residue.attempt = std::make_shared<const Attempt>(std::move(row));
}

}  // namespace agent::reconcile
