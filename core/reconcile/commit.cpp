// What a turn changed becomes durable, or did not happen.
#include <algorithm>

#include "domain/backoff.hpp"
#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::Attempt;
using domain::AttemptId;
using domain::ErrorCode;
using domain::Millis;
using observe::Field;
using observe::Level;

namespace {

constexpr Millis kCommitRetry{1'000};

// The journal works, but will not have one of the rows. Anything else is the disk's or the file's trouble and
// concerns all of them.
bool concerns_a_row(ErrorCode code) {
  return code == ErrorCode::exists || code == ErrorCode::invalid || code == ErrorCode::internal;
}

template <class Items, class Of>
void erase_of(Items& items, const AttemptId& id, Of attempt_of) {
  const auto theirs = [&](const auto& item) { return attempt_of(item) == id; };
  items.erase(std::remove_if(items.begin(), items.end(), theirs), items.end());
}

}  // namespace

bool Engine::commit() {
  std::set<AttemptId> changed;
  for (const auto& [id, row] : before_)
    changed.insert(id);
  if (changed.empty()) {
    begin_turn();
    return recheck_journal();
  }
  const auto committed = journal_.commit(batch_of(changed));
  if (committed) {
    journal_error_.reset();
    for (const AttemptId& id : changed)
      keep(id);
    begin_turn();
    return true;
  }
  if (concerns_a_row(committed.error().code)) {
    isolate(changed);
    return true;
  }
  journal_failed(committed.error(), nullptr);
  for (const AttemptId& id : changed)
    restore(id);
  put_back(std::move(answered_));
  begin_turn();
  return false;
}

// A turn that wrote nothing proves nothing about a journal that could not be written before.
bool Engine::recheck_journal() {
  if (!journal_error_) return true;
  const auto written = journal_.prove_writable();
  if (written) {
    journal_error_.reset();
    return true;
  }
  journal_failed(written.error(), nullptr);
  return false;
}

journal::Batch Engine::batch_of(const std::set<AttemptId>& ids) const {
  journal::Batch batch;
  for (const AttemptId& id : ids)
    batch.attempts.push_back(live_.at(id).attempt);
  std::copy_if(records_.begin(), records_.end(), std::back_inserter(batch.events),
               [&ids](const journal::EventRecord& record) { return ids.contains(record.attempt); });
  return batch;
}

// Row by row, so that what the journal will not have stops one attempt and not all of them.
void Engine::isolate(const std::set<AttemptId>& ids) {
  std::deque<lifecycle::Event> unwritten;
  for (const AttemptId& id : ids) {
    const auto committed = journal_.commit(batch_of({id}));
    if (committed) {
      keep(id);
    } else if (concerns_a_row(committed.error().code)) {
      refuse(id, committed.error());
    } else {
      journal_failed(committed.error(), nullptr);
      restore(id);
      std::copy_if(answered_.begin(), answered_.end(), std::back_inserter(unwritten),
                   [&id](const lifecycle::Event& event) { return event.attempt == id; });
    }
  }
  put_back(std::move(unwritten));
  begin_turn();
}

// This row is durable: what waited for that may happen.
void Engine::keep(const AttemptId& id) {
  Live& live = live_.at(id);
  const Attempt& now = live.attempt;
  const Attempt& before = before_.at(id).attempt;
  const bool created = created_.contains(id);
  live.refusals = 0;
  if (refused_launches_.contains(id)) hold_policy(now);
  note_ahead(before, now);
  if (lifecycle::in_bring_up(before) && now.outcome && now.outcome->kind == domain::OutcomeKind::failed)
    withdraw_launches(now);
  if (now.times.started && !before.times.started) forgive_policy(now.policy.name);
  if (now.residue_until != before.residue_until) watch_residue(now);
  report(before, now, created);
}

// Nothing of this turn happened to this row. Looks and timers come again by themselves.
void Engine::restore(const AttemptId& id) {
  if (created_.contains(id)) {
    live_.erase(id);
  } else {
    Live& live = live_.at(id);
    live = before_.at(id);
    // An attempt that was not reconciled after all keeps the launches of its target closed.
    if (live.resumed) target_of(live.attempt.policy).recovered = false;
  }
  erase_of(staged_, id, [](const Effect& effect) { return effect.attempt->id; });
  erase_of(dropped_secrets_, id, [](const AttemptId& dropped) { return dropped; });
}

void Engine::refuse(const AttemptId& id, const domain::Error& error) {
  journal_failed(error, &id);
  const bool created = created_.contains(id);
  restore(id);
  if (created) return;  // nothing was written and nothing was done: the next pass decides anew
  Live& live = live_.at(id);
  live.refusals = std::min<std::int64_t>(live.refusals + 1, 60);
  // Nothing changes a row that rests, so it rests only once at a time.
  Refused refused;
  refused.retry = {.tries = live.refusals,
                   .due = domain::after(world_.now(), domain::cleanup_wait(live.refusals))};
  refused.why = error.message;
  std::copy_if(answered_.begin(), answered_.end(), std::back_inserter(refused.events),
               [&id](const lifecycle::Event& event) { return event.attempt == id; });
  live.refused = std::move(refused);
}

// Its time has come: what was not taken is taken again.
void Engine::readmit(Live& live) {
  if (!live.refused) return;
  const std::vector<lifecycle::Event> events = std::move(live.refused->events);
  live.refused.reset();
  for (const lifecycle::Event& event : events) {
    answered_.push_back(event);
    stage(event);
  }
}

void Engine::put_back(std::deque<lifecycle::Event> answers) {
  for (auto event = answers.rbegin(); event != answers.rend(); ++event)
    inputs_.emplace_front(std::move(*event));
}

void Engine::begin_turn() {
  before_.clear();
  created_.clear();
  answered_.clear();
  records_.clear();
  refused_launches_.clear();
}

void Engine::journal_failed(const domain::Error& error, const AttemptId* attempt) {
  const std::string code(domain::to_string(error.code));
  if (attempt != nullptr) {
    log_.write(
        Level::error, observe::Event::journal_failed,
        {{Field::attempt, attempt->str()}, {Field::error_code, code}, {Field::message, error.message}});
    return;
  }
  log_.write(Level::error, observe::Event::journal_failed,
             {{Field::error_code, code}, {Field::message, error.message}});
  if (error.code == ErrorCode::full) disk_is_full(error.message);
  journal_error_ = error;
  retry_commit_at_ = domain::after(world_.now(), kCommitRetry);
}

}  // namespace agent::reconcile
