// What makes a connection one of ours: its settings, and the marks that a file must bear before it is
// written.
#pragma once

#include <cstddef>

#include "journal/journal.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

// Settings that write nothing: patience and locking.
domain::Result<void> set_patience(sqlite::Database& database, const OpenOptions& options);

// How much of the file is kept in memory.
domain::Result<void> bound_memory(sqlite::Database& database);

// True for a database without any table and mark: one that was never finished.
domain::Result<bool> is_blank(sqlite::Database& database);

// corrupt: the mark of a journal is missing or the pages are damaged. unsupported: a schema that this program
// cannot serve. Reads only.
domain::Result<void> check_content(sqlite::Database& database, const OpenOptions& options,
                                   std::size_t newest);

// WAL, synchronous FULL, foreign keys; each verified where SQLite may answer otherwise.
domain::Result<void> set_durability(sqlite::Database& database);

// The installation id. Writes both ids if there are none yet and `mint`, and the machine's id when it is
// adopted. denied: the journal belongs to another machine.
domain::Result<std::string> check_identity(sqlite::Database& database, const OpenOptions& options, bool mint);

}  // namespace agent::journal
