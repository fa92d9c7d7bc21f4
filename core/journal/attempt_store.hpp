// Attempts as rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/attempt.hpp"
#include "journal/definition_store.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

class AttemptStore {
 public:
  explicit AttemptStore(sqlite::Database& database) : database_(database), definitions_(database) {}

  // Updates the row of the attempt or makes it. Inside a transaction, which the caller rolls back on any
  // error. exists: a fence was hit. internal: a fact that is written once would change, or a cleaned attempt
  // would live.
  domain::Result<void> write(const domain::Attempt& attempt);

  domain::Result<std::vector<domain::Attempt>> active();
  domain::Result<std::vector<domain::Attempt>> residues(std::int64_t wall_ms);
  domain::Result<std::optional<domain::Attempt>> find(const domain::AttemptId& id);
  domain::Result<std::vector<domain::Attempt>> recent(std::int64_t limit);

  DefinitionStore& definitions() { return definitions_; }

 private:
  domain::Result<bool> update(const domain::Attempt& attempt, std::int64_t definition);
  domain::Result<void> insert(const domain::Attempt& attempt, std::int64_t definition);
  // Why an update found no row although the attempt is known; nothing if it is not known.
  domain::Result<void> explain_update(const domain::Attempt& attempt);
  domain::Result<void> check_fences(const domain::Attempt& attempt);
  domain::Result<domain::Attempt> read(const sqlite::Statement& row);
  domain::Result<std::vector<domain::Attempt>> read_all(sqlite::Statement& statement);

  sqlite::Database& database_;
  DefinitionStore definitions_;
};

// The query of `active`, for a test of its plan.
const std::string& active_query();

}  // namespace agent::journal
