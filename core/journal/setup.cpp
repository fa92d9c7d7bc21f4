#include "journal/setup.hpp"

#include "journal/schema.hpp"

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;
using domain::Result;
using sqlite::Database;

namespace {

Result<void> set(Database& database, const std::string& pragma) {
  return database.execute("PRAGMA " + pragma);
}

// After a burst the log is cut back to this, so that a quiet daemon holds little disk.
constexpr const char* kLogLimit = "journal_size_limit = 4194304";
// In KiB. Room for what is active; a long history must not fill memory.
constexpr const char* kCache = "cache_size = -1024";

Result<void> check_version(const Database& database, std::int64_t version, std::size_t newest,
                           bool read_only) {
  const auto known = static_cast<std::int64_t>(newest);
  if (version == known || (version > 0 && version < known && !read_only)) return {};
  std::string message =
      "journal " + database.path() + " has schema " + std::to_string(version) + ", this program ";
  if (version > known) {
    message += "knows " + std::to_string(known) +
               " at most; nothing was changed. Run the newer program again, or restore the backup that it "
               "made before "
               "its first step.";
  } else {
    message += "reads " + std::to_string(known) + "; the daemon brings it up to date when it starts.";
  }
  return Error{ErrorCode::unsupported, std::move(message), {}};
}

}  // namespace

Result<void> set_patience(Database& database, const OpenOptions& options) {
  database.busy_timeout(options.busy_timeout);
  // A reader beside the daemon must share; a VFS of its own may have no shared memory at all.
  const bool exclusive = options.exclusive && (!options.read_only || !options.vfs.empty());
  if (!exclusive) return {};
  return set(database, "locking_mode = EXCLUSIVE");
}

Result<void> bound_memory(Database& database) { return set(database, kCache); }

Result<bool> is_blank(Database& database) {
  auto version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  auto objects = database.integer("SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects.error();
  return *version == 0 && *objects == 0;
}

Result<void> check_content(Database& database, const OpenOptions& options, std::size_t newest) {
  auto mark = database.integer("PRAGMA application_id");
  if (!mark) return mark.error();
  if (*mark != kApplicationId) {
    return Error{ErrorCode::corrupt,
                 "journal " + database.path() +
                     " does not bear the mark of a journal: it is damaged or belongs to " +
                     "another program. " + sqlite::way_out(database.path()),
                 {}};
  }
  auto version = database.integer("PRAGMA user_version");
  if (!version) return version.error();
  if (auto served = check_version(database, *version, newest, options.read_only); !served) return served;
  if (!options.check) return {};
  auto verdict = database.text("PRAGMA quick_check(1)");
  if (!verdict) return verdict.error();
  if (*verdict == "ok") return {};
  return Error{
      ErrorCode::corrupt,
      "journal " + database.path() + " is damaged (" + *verdict + "). " + sqlite::way_out(database.path()),
      {}};
}

Result<void> set_durability(Database& database) {
  auto mode = database.text("PRAGMA journal_mode = WAL");
  if (!mode) return mode.error();
  if (*mode != "wal") {
    return Error{ErrorCode::denied,
                 "journal " + database.path() + " cannot use a write-ahead log here (it answers " + *mode +
                     "); put the state directory on a local file system.",
                 {}};
  }
  for (const char* pragma : {"synchronous = FULL", "foreign_keys = ON", "temp_store = MEMORY", kLogLimit}) {
    if (auto done = set(database, pragma); !done) return done;
  }
  return {};
}

}  // namespace agent::journal
