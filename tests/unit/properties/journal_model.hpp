// What a journal promises, in plain containers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "journal/journal.hpp"

namespace properties {

class JournalModel {
 public:
  using Attempt = agent::domain::Attempt;
  using EventRecord = agent::journal::EventRecord;
  struct Row {
    Attempt attempt;
    std::vector<EventRecord> events;
  };
  using Place = std::pair<std::string, std::string>;  // instance, key

  // Nothing: the batch is written. A code: it is refused as a whole.
  std::optional<agent::domain::ErrorCode> commit(const agent::journal::Batch& batch);
  std::int64_t prune(std::int64_t before_wall_ms, std::int64_t keep, std::int64_t limit);

  [[nodiscard]] const Row* find(const agent::domain::AttemptId& id) const;
  // In the order of their creation.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  std::map<Place, std::string> values;

 private:
  std::optional<agent::domain::ErrorCode> write(const Attempt& attempt);
  std::optional<agent::domain::ErrorCode> append(const EventRecord& event);
  Row* find_row(const agent::domain::AttemptId& id);
  std::vector<Row> rows_;
};

// Asks for nothing any more.
bool is_settled(const agent::domain::Attempt& attempt);

}  // namespace properties
