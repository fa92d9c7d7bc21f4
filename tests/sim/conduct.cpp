#include "sim/conduct.hpp"

#include <algorithm>

#include "sim/laws.hpp"

namespace simulation {

using agent::domain::Attempt;
using agent::domain::EffectKind;
using agent::domain::TerminationKind;
namespace event = agent::lifecycle::event;

namespace {

constexpr std::int64_t kLaunchWait = 2'000;
constexpr std::int64_t kCleanupWait = 30'000;
constexpr std::int64_t kLongestWait = 15 * 60'000;
constexpr std::int64_t kLaunchTries = 3;

bool launches(EffectKind kind) {
  return kind == EffectKind::acquire_package || kind == EffectKind::materialize ||
         kind == EffectKind::prepare || kind == EffectKind::register_runner ||
         kind == EffectKind::spawn_held || kind == EffectKind::release;
}

bool asks_github_first(TerminationKind kind) {
  return kind == TerminationKind::surplus || kind == TerminationKind::idle_timeout ||
         kind == TerminationKind::registration_timeout;
}

std::string name_of(EffectKind kind) { return std::string(agent::domain::to_string(kind)); }

}  // namespace

void Conduct::check_intent(const agent::reconcile::Effect& effect, const std::optional<Attempt>& row) {
  const bool durable =
      row && row->pending && row->pending->seq == effect.seq && row->pending->kind == effect.kind;
  if (!durable) report_("effect " + name_of(effect.kind) + " was issued before its intent was durable");
}

void Conduct::check_ending(const agent::reconcile::Effect& effect, const Attempt& row, const Record& record) {
  const bool live = lives(row.state);
  if (effect.kind == EffectKind::stop && live) {
    if (!row.termination) {
      report_("a live runner was stopped without a durable decision to end it");
    } else if (asks_github_first(row.termination->kind) && !record.deregistered) {
      report_("a runner was stopped before GitHub could say that it is not busy");
    }
  }
  if (effect.kind == EffectKind::destroy && live) report_("a live runner was destroyed");
  if (effect.kind == EffectKind::scrub && live) report_("the directory of a live runner was removed");
  if (effect.kind == EffectKind::scrub && !row.environment_removed)
    report_("a directory was removed before its runner was proven gone");
}

void Conduct::issued(const agent::reconcile::Effect& effect, const std::optional<Attempt>& row,
                     std::int64_t now_ms) {
  const EffectKind kind = effect.kind;
  check_intent(effect, row);
  if (!row) return;
  Record& record = attempts_[effect.attempt->id];
  check_ending(effect, *row, record);
  record.concluded = !lives(row->state);
  record.awaited = effect.seq;
  const std::int64_t times = ++record.issues[kind];
  if (kind == EffectKind::release && times > 1) report_("a start was asked for twice");
  if (launches(kind) && record.concluded) report_("a launch went on after its conclusion");
  if (launches(kind) && times > kLaunchTries) report_(name_of(kind) + " was tried more than three times");
  if (const auto failed = record.failures.find(kind); failed != record.failures.end()) {
    if (now_ms < failed->second.at_ms + failed->second.wait_ms)
      report_(name_of(kind) + " was tried again without waiting");
    record.failures.erase(failed);
  }
  if (kind == EffectKind::register_runner) {
    if (record.register_unresolved) report_("a registration was asked for twice blindly");
    record.register_unresolved = true;
  }
}

void Conduct::answered(const agent::lifecycle::Event& answer, EffectKind kind, std::int64_t now_ms) {
  Record& record = attempts_[answer.attempt];
  const auto& body = answer.body;
  // Of an answer that comes once more only what it tells counts, not when.
  const bool first = record.awaited == answer.seq;
  if (first) record.awaited = 0;
  if (const auto* failed = std::get_if<event::Failed>(&body)) {
    if (!first) return;
    if (launches(kind)) {
      const std::int64_t asked = std::min<std::int64_t>(failed->retry_after.count(), kLongestWait);
      record.failures[kind] = {.at_ms = now_ms, .wait_ms = std::max(kLaunchWait, asked)};
    } else if (record.concluded) {
      record.failures[kind] = {.at_ms = now_ms, .wait_ms = kCleanupWait};
    }
    return;
  }
  // A registration that comes late is removed at once.
  if (std::holds_alternative<event::Registered>(body)) record.failures.erase(EffectKind::deregister);
  if (const auto* removed = std::get_if<event::Deregistered>(&body)) {
    record.register_unresolved = false;
    record.deregistered = removed->removal != event::Removal::busy;
  }
}

void Conduct::restarted() {
  for (auto& [id, record] : attempts_)
    record.failures.clear();
}

}  // namespace simulation
