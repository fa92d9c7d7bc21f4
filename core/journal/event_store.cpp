#include "journal/event_store.hpp"

#include <utility>

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

Result<void> EventStore::append(const EventRecord& event) {
  auto statement = database_.prepare(
      "INSERT INTO event (attempt, number, at_wall_ms, at_boot_ms, at_boot_id, word, detail) "
      "SELECT seq, (SELECT coalesce(max(number), 0) + 1 FROM event WHERE attempt = seq), ?2, ?3, ?4, ?5, ?6 "
      "FROM attempt WHERE id = ?1");
  if (!statement) return statement.error();
  statement->bind(event.attempt.str())
      .bind(event.at.wall_ms)
      .bind(event.at.boot_ms)
      .bind(event.at.boot_id.str());
  if (auto done = statement->bind(event.word).bind(event.detail).run(); !done) return done;
  if (database_.changes() == 1) return {};
  return Error{ErrorCode::internal,
               "an event of attempt " + event.attempt.str() +
                   ", which the journal does not know; nothing was written.",
               {}};
}

Result<std::vector<EventRecord>> EventStore::of(const domain::AttemptId& id) {
  auto statement = database_.prepare(
      "SELECT at_wall_ms, at_boot_ms, at_boot_id, word, detail FROM event "
      "WHERE attempt = (SELECT seq FROM attempt WHERE id = ?1) ORDER BY number");
  if (!statement) return statement.error();
  statement->bind(id.str());
  std::vector<EventRecord> events;
  for (;;) {
    auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return events;
    domain::Instant at{statement->integer(0), statement->integer(1), domain::BootId{statement->text(2)}};
    events.push_back({id, std::move(at), statement->text(3), statement->text(4)});
  }
}

}  // namespace agent::journal
