#include "journal/prune.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "journal/schema.hpp"

namespace agent::journal {

using domain::Result;
using sqlite::Database;

namespace {

struct Position {
  std::int64_t ended = 0;
  std::int64_t seq = 0;
};

const std::string& settled() {
  static const std::string text = " FROM attempt INDEXED BY attempt_settled WHERE " + std::string{kSettled};
  return text;
}

Result<bool> any_before(Database& database, std::int64_t wall_ms) {
  auto statement = database.prepare("SELECT 1" + settled() + " AND changed_wall_ms < ?1 LIMIT 1");
  if (!statement) return statement.error();
  return statement->bind(wall_ms).step();
}

// The oldest of the newest `keep`; nothing if there are fewer.
Result<std::optional<Position>> oldest_kept(Database& database, std::int64_t keep) {
  auto statement = database.prepare("SELECT changed_wall_ms, seq" + settled() +
                                    " ORDER BY changed_wall_ms DESC, seq DESC LIMIT 1 OFFSET ?1");
  if (!statement) return statement.error();
  auto row = statement->bind(keep - 1).step();
  if (!row) return row.error();
  if (!*row) return std::optional<Position>{};
  return std::optional<Position>{Position{statement->integer(0), statement->integer(1)}};
}

Result<std::int64_t> remove(Database& database, std::int64_t before, const Position& end,
                            std::int64_t limit) {
  auto statement = database.prepare("DELETE FROM attempt WHERE seq IN (SELECT seq" + settled() +
                                    " AND changed_wall_ms < ?1 AND (changed_wall_ms, seq) < (?2, ?3) "
                                    "ORDER BY changed_wall_ms, seq LIMIT ?4)");
  if (!statement) return statement.error();
  if (auto done = statement->bind(before).bind(end.ended).bind(end.seq).bind(limit).run(); !done)
    return done.error();
  return database.changes();
}

}  // namespace

Result<std::int64_t> prune_settled(Database& database, DefinitionStore& definitions,
                                   std::int64_t before_wall_ms, std::int64_t keep, std::int64_t limit) {
  if (limit <= 0) return 0;
  auto any = any_before(database, before_wall_ms);
  if (!any) return any.error();
  if (!*any) return 0;
  // Without anything to keep the age alone decides.
  Position end{before_wall_ms, 0};
  if (keep > 0) {
    auto kept = oldest_kept(database, keep);
    if (!kept) return kept.error();
    if (!*kept) return 0;
    end = **kept;
  }
  auto removed = remove(database, before_wall_ms, end, limit);
  if (!removed || *removed == 0) return removed;
  if (auto unused = definitions.remove_unused(); !unused) return unused.error();
  return removed;
}

}  // namespace agent::journal
