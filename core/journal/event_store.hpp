// What happened to attempts, append-only.
#pragma once

#include <vector>

#include "journal/journal.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

class EventStore {
 public:
  explicit EventStore(sqlite::Database& database) : database_(database) {}
  // Inside a transaction, after the attempts of the same turn.
  domain::Result<void> append(const EventRecord& event);
  // In the order in which they were written.
  domain::Result<std::vector<EventRecord>> of(const domain::AttemptId& id);

 private:
  sqlite::Database& database_;
};

}  // namespace agent::journal
