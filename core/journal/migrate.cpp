#include "journal/migrate.hpp"

#include "crash_point.hpp"
#include "journal/files.hpp"
#include "journal/schema.hpp"

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;
using domain::Result;
using sqlite::Database;

namespace {

Result<void> take(Database& database, const std::string& step, std::int64_t version) {
  auto transaction = sqlite::Transaction::begin(database);
  if (!transaction) return transaction.error();
  if (auto run = database.execute(step); !run) return run;
  {
    auto check = database.prepare("SELECT 1 FROM pragma_foreign_key_check LIMIT 1");
    if (!check) return check.error();
    auto broken = check->step();
    if (!broken) return broken.error();
    if (*broken) {
      return Error{ErrorCode::internal,
                   "journal " + database.path() + ": the step to schema " + std::to_string(version) +
                       " would leave references to nothing; the journal is as it was.",
                   {}};
    }
  }
  const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(version) + ";";
  if (auto marked = database.execute(marks); !marked) return marked;
  RMGR_CRASH_POINT("journal.step.within");
  auto committed = transaction->commit();
  RMGR_CRASH_POINT("journal.step.after");
  return committed;
}

Result<void> vacuum_into(Database& database, const std::string& target) {
  auto statement = database.prepare("VACUUM INTO ?1");
  if (!statement) return statement.error();
  return statement->bind(target).run();
}

std::string backup_name(const Database& database, std::int64_t version) {
  return database.path() + ".backup-" + std::to_string(version);
}

Result<void> take_all(Database& database, const std::vector<std::string>& steps, std::size_t from) {
  if (auto off = database.execute("PRAGMA foreign_keys = OFF"); !off) return off;
  for (std::size_t i = from; i < steps.size(); ++i) {
    if (auto taken = take(database, steps[i], static_cast<std::int64_t>(i) + 1); !taken) return taken;
  }
  return {};
}

}  // namespace

Result<void> migrate(Database& database, const std::vector<std::string>& steps, const Backup& backup) {
  auto version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  const auto newest = static_cast<std::int64_t>(steps.size());
  if (*version >= newest) return {};
  if (*version > 0) {
    if (auto saved = backup(database, *version); !saved) return saved;
  }
  auto taken = take_all(database, steps, static_cast<std::size_t>(*version));
  auto on = database.execute("PRAGMA foreign_keys = ON");
  return taken ? on : taken;
}

Backup backup_beside(const std::string& directory) {
  return [directory](Database& database, std::int64_t version) -> Result<void> {
    const std::string name = backup_name(database, version);
    const std::string unfinished = name + ".new";
    if (auto removed = remove_file(unfinished); !removed) return removed;
    if (auto made = create_file(unfinished); !made) return made;
    if (auto copied = vacuum_into(database, unfinished); !copied) return copied;
    return publish(unfinished, name, directory);
  };
}

Backup backup_within_vfs() {
  return [](Database& database, std::int64_t version) {
    return vacuum_into(database, backup_name(database, version));
  };
}

}  // namespace agent::journal
