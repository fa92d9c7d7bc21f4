// Brings a database to the newest schema, one step after the other, never back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "journal/sqlite.hpp"

namespace agent::journal {

// Makes a copy of the whole database before its first step; `version` is the one it has.
using Backup = std::function<domain::Result<void>(sqlite::Database&, std::int64_t version)>;

// Step i brings user_version from i to i + 1, in one transaction with the version itself; a step that fails
// leaves the version before it. Foreign keys are off during a step, so that tables can be rebuilt, and
// checked before its commit. An empty database needs no backup. A newer database is left as it is: who opens
// it refuses it.
domain::Result<void> migrate(sqlite::Database& database, const std::vector<std::string>& steps,
                             const Backup& backup);

// A backup beside the database: PATH.backup-VERSION, 0600, complete and durable under its name or not there.
Backup backup_beside(const std::string& directory);
// The same for a database in a VFS of its own; an old one of that name is an error.
Backup backup_within_vfs();

}  // namespace agent::journal
