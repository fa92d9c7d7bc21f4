#include "journal/prune.hpp"

#include <algorithm>
#include <string>

#include "journal/schema.hpp"

namespace agent::journal {

using domain::Result;
using sqlite::Database;

namespace {

Result<std::int64_t> remove(Database& database, std::int64_t before, std::int64_t limit) {
  auto statement = database.prepare(prune_query());
  if (!statement) return statement.error();
  if (auto done = statement->bind(before).bind(limit).run(); !done) return done.error();
  return database.changes();
}

}  // namespace

const std::string& prune_query() {
  static const std::string text =
      "DELETE FROM attempt WHERE seq IN (SELECT seq FROM attempt INDEXED BY attempt_settled WHERE " +
      std::string{kSettled} + " AND changed_wall_ms < ?1 ORDER BY changed_wall_ms, seq LIMIT ?2)";
  return text;
}

Result<std::int64_t> prune_settled(Database& database, DefinitionStore& definitions,
                                   std::int64_t before_wall_ms, std::int64_t keep, std::int64_t limit) {
  if (limit <= 0) return 0;
  auto all = database.integer("SELECT settled FROM tally");
  if (!all) return all.error();
  // All but the newest `keep` are the oldest of them.
  const std::int64_t surplus = *all - std::max<std::int64_t>(keep, 0);
  if (surplus <= 0) return 0;
  auto removed = remove(database, before_wall_ms, std::min(limit, surplus));
  if (!removed || *removed == 0) return removed;
  if (auto unused = definitions.remove_unused(); !unused) return unused.error();
  return removed;
}

}  // namespace agent::journal
