// Forgets history in small steps.
#pragma once

#include <cstdint>

#include "journal/attempt_store.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

// See Journal::prune. The newest `keep` are counted by their end among the settled ones. Costs O(limit +
// keep) on an index of settled attempts alone, and O(1) when nothing is old enough. Inside a transaction.
domain::Result<std::int64_t> prune_settled(sqlite::Database& database, DefinitionStore& definitions,
                                           std::int64_t before_wall_ms, std::int64_t keep,
                                           std::int64_t limit);

}  // namespace agent::journal
