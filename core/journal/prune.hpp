// Forgets history in small steps.
#pragma once

#include <cstdint>
#include <string>

#include "journal/attempt_store.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

// Removes the oldest that ended before ?1, at most ?2. For the test that looks at its plan.
const std::string& prune_query();

// See Journal::prune. The newest `keep` are counted by their end among the settled ones. Costs what it
// removes, however many there are and however many are kept. Inside a transaction.
domain::Result<std::int64_t> prune_settled(sqlite::Database& database, DefinitionStore& definitions,
                                           std::int64_t before_wall_ms, std::int64_t keep,
                                           std::int64_t limit);

}  // namespace agent::journal
