#include "journal/connection.hpp"

#include <utility>

#include "crash_point.hpp"
#include "journal/files.hpp"
#include "journal/migrate.hpp"
#include "journal/setup.hpp"

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;
using domain::Result;
using sqlite::Access;
using sqlite::Database;

namespace {

struct Request {
  const OpenOptions& options;
  const std::vector<std::string>& steps;
  std::string path;
  Access access;
  Backup backup;
  bool may_be_blank;  // a file that holds nothing yet becomes a journal
};

Result<Opened> prepare(const Request& request) {
  const OpenOptions& options = request.options;
  auto database = Database::open(request.path, request.access, options.vfs);
  if (!database) return database.error();
  if (auto set = set_patience(*database, options); !set) return set.error();
  if (auto set = bound_memory(*database); !set) return set.error();
  bool blank = false;
  if (request.may_be_blank) {
    auto found = is_blank(*database);
    if (!found) return found.error();
    blank = *found;
  }
  if (!blank) {
    if (auto sound = check_content(*database, options, request.steps.size()); !sound) return sound.error();
  }
  if (request.access != Access::read_only) {
    if (auto set = set_durability(*database); !set) return set.error();
    if (auto migrated = migrate(*database, request.steps, request.backup); !migrated) return migrated.error();
  }
  auto installation = check_identity(*database, options, request.may_be_blank);
  if (!installation) return installation.error();
  database->keep_tidy();
  return Opened{std::move(*database), std::move(*installation), {}};
}

std::pair<std::string, std::string> split(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

// A log without its database would be replayed into the next one of that name.
Result<void> refuse_remains(const std::string& path) {
  for (const char* suffix : {"-wal", "-journal"}) {
    auto there = exists(path + suffix);
    if (!there) return there.error();
    if (*there) {
      return Error{
          ErrorCode::corrupt,
          "journal " + path + " is missing, yet " + path + suffix + " is there. " + sqlite::way_out(path),
          {}};
    }
  }
  return {};
}

// Made under another name and renamed once it is complete, so that a file that bears the name is never half
// made and an empty one is never new.
Result<void> make_new(const OpenOptions& options, const std::string& path, const std::string& directory,
                      const std::vector<std::string>& steps) {
  if (auto clear = refuse_remains(path); !clear) return clear;
  const std::string unfinished = path + ".new";
  for (const char* suffix : {"-wal", "-journal", "-shm", ""}) {
    if (auto removed = remove_file(unfinished + suffix); !removed) return removed;
  }
  if (auto made = create_file(unfinished); !made) return made;
  {
    OpenOptions alone = options;
    alone.exclusive = true;
    auto opened = prepare({alone, steps, unfinished, Access::read_write, backup_beside(directory), true});
    if (!opened) return opened.error();
  }
  RMGR_CRASH_POINT("journal.new.made");
  auto published = publish(unfinished, path, directory);
  RMGR_CRASH_POINT("journal.new.published");
  return published;
}

Result<Opened> open_on_disk(const OpenOptions& options, const std::vector<std::string>& steps) {
  const auto [parent, name] = split(options.path);
  auto directory = state_directory(parent, !options.read_only);
  if (!directory) return directory.error();
  const std::string path = (*directory == "/" ? "" : *directory) + "/" + name;
  auto there = exists(path);
  if (!there) return there.error();
  if (!*there && options.read_only) {
    if (auto clear = refuse_remains(path); !clear) return clear.error();
    return Error{ErrorCode::not_found,
                 "there is no journal at " + path + " yet; the daemon makes it when it first starts.",
                 {}};
  }
  if (!*there) {
    if (auto made = make_new(options, path, *directory, steps); !made) return made.error();
  }
  auto size = check_file(path, *directory);
  if (!size) return size.error();
  if (*size == 0) {
    return Error{
        ErrorCode::corrupt, "journal " + path + " is empty, which it never is. " + sqlite::way_out(path), {}};
  }
  const Access access = options.read_only ? Access::read_only : Access::read_write;
  auto opened = prepare({options, steps, path, access, backup_beside(*directory), false});
  if (opened) opened->directory = *directory;
  return opened;
}

}  // namespace

Result<Opened> open_database(const OpenOptions& options, const std::vector<std::string>& steps) {
  if (options.path.empty()) return Error{ErrorCode::internal, "a journal needs a path.", {}};
  if (options.vfs.empty()) return open_on_disk(options, steps);
  const Access access = options.read_only ? Access::read_only : Access::create;
  return prepare({options, steps, options.path, access, backup_within_vfs(), !options.read_only});
}

}  // namespace agent::journal
