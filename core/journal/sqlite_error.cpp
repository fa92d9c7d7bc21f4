#include <cerrno>

#include "journal/sqlite_connection.hpp"

namespace agent::journal::sqlite {

using domain::ErrorCode;

namespace {

bool out_of_space(int system_error) { return system_error == ENOSPC || system_error == EDQUOT; }

ErrorCode of_io(int extended, int system_error) {
  if (extended == SQLITE_IOERR_CORRUPTFS || extended == SQLITE_IOERR_DATA) return ErrorCode::corrupt;
  if (extended == SQLITE_IOERR_NOMEM) return ErrorCode::retry;
  return out_of_space(system_error) ? ErrorCode::full : ErrorCode::retry;
}

ErrorCode of_cannot_open(int extended, int system_error) {
  if (extended == SQLITE_CANTOPEN_SYMLINK) return ErrorCode::denied;
  if (out_of_space(system_error)) return ErrorCode::full;
  if (system_error == ENOENT) return ErrorCode::not_found;
  if (system_error == EMFILE || system_error == ENFILE) return ErrorCode::retry;
  return ErrorCode::denied;
}

ErrorCode code_of(int extended, int system_error) {
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL: return ErrorCode::busy;
    case SQLITE_FULL: return ErrorCode::full;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return ErrorCode::corrupt;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH: return ErrorCode::denied;
    case SQLITE_CONSTRAINT:
      return extended == SQLITE_CONSTRAINT_UNIQUE || extended == SQLITE_CONSTRAINT_PRIMARYKEY
                 ? ErrorCode::exists
                 : ErrorCode::internal;
    case SQLITE_IOERR: return of_io(extended, system_error);
    case SQLITE_CANTOPEN: return of_cannot_open(extended, system_error);
    case SQLITE_NOMEM: return ErrorCode::retry;
    case SQLITE_TOOBIG: return ErrorCode::invalid;
    case SQLITE_INTERRUPT: return ErrorCode::cancelled;
    default: return ErrorCode::internal;
  }
}

std::string advice(ErrorCode code, const std::string& path) {
  switch (code) {
    case ErrorCode::corrupt: return way_out(path);
    case ErrorCode::full: return "Free space on its file system.";
    case ErrorCode::busy: return "Another process holds it; end that one, or try again.";
    case ErrorCode::denied:
      return "Check whether its file system is mounted read-only, and who owns it and its directory.";
    case ErrorCode::retry: return "Nothing was concluded from it; look at the disk if this goes on.";
    default: return {};
  }
}

}  // namespace

std::string way_out(const std::string& path) {
  return "Nothing was changed. Keep the evidence: move " + path +
         " with its -wal and -shm files aside, all together, "
         "then put a backup in its place or start without one; docs/journal.md has the steps.";
}

Error Database::failure(int status, std::string_view doing) {
  sqlite3* handle = connection_->handle.get();
  const int extended = status != 0 ? status : sqlite3_extended_errcode(handle);
  // The operating system's error is kept by the connection after it is over, so it counts only for the
  // classes that come from the operating system.
  const ErrorCode code = code_of(extended, sqlite3_system_errno(handle));
  if (code == ErrorCode::corrupt) connection_->damaged = true;
  const bool same = sqlite3_extended_errcode(handle) == extended;
  std::string message = "journal " + connection_->path + ": cannot " + std::string{doing} + ": " +
                        (same ? sqlite3_errmsg(handle) : sqlite3_errstr(extended)) + " (" +
                        std::to_string(extended) + ").";
  const std::string what_to_do = advice(code, connection_->path);
  if (!what_to_do.empty()) message += " " + what_to_do;
  return Error{code, std::move(message), {}};
}

}  // namespace agent::journal::sqlite
