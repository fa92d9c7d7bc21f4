#include "unit/properties/journal_model.hpp"

#include <algorithm>
#include <set>

namespace properties {

using agent::domain::AttemptId;
using agent::domain::ErrorCode;
using agent::domain::State;
using agent::journal::Batch;

namespace {

using Attempt = JournalModel::Attempt;

template <class T>
bool kept(const std::optional<T>& before, const std::optional<T>& now) {
  return !before || before == now;
}

bool may_follow(const Attempt& before, const Attempt& now) {
  const bool born_so = before.generation == now.generation && before.policy == now.policy &&
                       before.policy.target.str() == now.policy.target.str() &&
                       before.runtime == now.runtime && before.slot == now.slot;
  const bool facts = kept(before.package, now.package) && kept(before.environment, now.environment) &&
                     kept(before.runner, now.runner) && kept(before.process, now.process);
  return born_so && facts && (before.state != State::cleaned || now.state == State::cleaned);
}

bool share_what_is_fenced(const Attempt& one, const Attempt& other) {
  if (one.state == State::cleaned || other.state == State::cleaned) return false;
  return one.runtime == other.runtime ||
         (one.slot && one.slot == other.slot && one.policy.name == other.policy.name);
}

}  // namespace

bool is_settled(const Attempt& attempt) {
  return attempt.state == State::cleaned && !attempt.deregistration_owed && !attempt.replacement_wanted;
}

std::optional<ErrorCode> JournalModel::commit(const Batch& batch) {
  JournalModel next = *this;
  for (const Attempt& attempt : batch.attempts) {
    if (const auto refused = next.write(attempt)) return refused;
  }
  for (const EventRecord& event : batch.events) {
    if (const auto refused = next.append(event)) return refused;
  }
  *this = std::move(next);
  return std::nullopt;
}

std::optional<ErrorCode> JournalModel::write(const Attempt& attempt) {
  if (Row* row = find_row(attempt.id)) {
    if (!may_follow(row->attempt, attempt)) return ErrorCode::internal;
    row->attempt = attempt;
    return std::nullopt;
  }
  for (const Row& row : rows_) {
    if (share_what_is_fenced(row.attempt, attempt)) return ErrorCode::exists;
  }
  rows_.push_back({attempt, {}});
  return std::nullopt;
}

std::optional<ErrorCode> JournalModel::append(const EventRecord& event) {
  static const std::set<std::string> words{"allocated", "failed", "materialize", "by_operator"};
  const bool is_word = std::all_of(event.detail.begin(), event.detail.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  });
  Row* row = find_row(event.attempt);
  if (row == nullptr || !words.contains(event.word) || !is_word || event.detail.size() > 64)
    return ErrorCode::internal;
  row->events.push_back(event);
  return std::nullopt;
}

std::int64_t JournalModel::prune(std::int64_t before_wall_ms, std::int64_t keep, std::int64_t limit) {
  std::vector<Attempt> settled;
  for (const Row& row : rows_) {
    if (is_settled(row.attempt)) settled.push_back(row.attempt);
  }
  std::stable_sort(settled.begin(), settled.end(), [](const Attempt& one, const Attempt& other) {
    return one.changed_at.wall_ms < other.changed_at.wall_ms;
  });
  const auto all = static_cast<std::int64_t>(settled.size());
  std::set<AttemptId> gone;
  for (std::int64_t index = 0; index < all - std::max<std::int64_t>(keep, 0); ++index) {
    const Attempt& attempt = settled[static_cast<std::size_t>(index)];
    const bool room = static_cast<std::int64_t>(gone.size()) < limit;
    if (room && attempt.changed_at.wall_ms < before_wall_ms) gone.insert(attempt.id);
  }
  std::erase_if(rows_, [&gone](const Row& row) { return gone.contains(row.attempt.id); });
  return static_cast<std::int64_t>(gone.size());
}

const JournalModel::Row* JournalModel::find(const AttemptId& id) const {
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&id](const Row& candidate) { return candidate.attempt.id == id; });
  return row == rows_.end() ? nullptr : &*row;
}

JournalModel::Row* JournalModel::find_row(const AttemptId& id) {
  const auto row = std::find_if(rows_.begin(), rows_.end(),
                                [&id](const Row& candidate) { return candidate.attempt.id == id; });
  return row == rows_.end() ? nullptr : &*row;
}

}  // namespace properties
