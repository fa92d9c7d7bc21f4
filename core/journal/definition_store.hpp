// Policy definitions: one row for each distinct one, shared by the attempts that were granted under it.
#pragma once

#include <cstdint>
#include <map>

#include "domain/policy.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

class DefinitionStore {
 public:
  explicit DefinitionStore(sqlite::Database& database) : database_(database) {}

  // The row of exactly this definition, made if there is none. Inside a transaction.
  domain::Result<std::int64_t> intern(const domain::Policy& policy);
  // The pointer is good until the next call of any member.
  domain::Result<const domain::Policy*> load(std::int64_t id);
  // Removes the definitions that no attempt refers to. Inside a transaction.
  domain::Result<void> remove_unused();
  // What is known may be gone: after a rollback and after a removal.
  void forget() { known_.clear(); }

 private:
  domain::Result<std::int64_t> insert(const domain::Policy& policy);
  domain::Result<domain::Policy> read(std::int64_t id);
  domain::Result<void> remember_all_named(const domain::PolicyName& name);

  sqlite::Database& database_;
  std::map<std::int64_t, domain::Policy> known_;
};

}  // namespace agent::journal
