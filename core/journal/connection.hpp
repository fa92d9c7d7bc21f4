// How a journal is opened: found, checked, hardened, migrated.
#pragma once

#include <string>
#include <vector>

#include "journal/journal.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

struct Opened {
  sqlite::Database database;
  std::string installation;
  std::string directory;  // of the file; empty within a VFS of its own
};

// The whole sequence of Journal::open with the schema given by `steps`.
domain::Result<Opened> open_database(const OpenOptions& options, const std::vector<std::string>& steps);

}  // namespace agent::journal
