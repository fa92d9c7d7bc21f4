#include <utility>

#include "journal/sqlite_connection.hpp"

namespace agent::journal::sqlite {

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      handle_(std::exchange(other.handle_, nullptr)),
      entry_(std::exchange(other.entry_, nullptr)),
      next_(other.next_),
      bind_status_(other.bind_status_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this != &other) {
    give_back();
    database_ = other.database_;
    handle_ = std::exchange(other.handle_, nullptr);
    entry_ = std::exchange(other.entry_, nullptr);
    next_ = other.next_;
    bind_status_ = other.bind_status_;
  }
  return *this;
}

Statement::~Statement() { give_back(); }

void Statement::give_back() noexcept {
  if (handle_ == nullptr) return;
  if (entry_ == nullptr) {
    sqlite3_finalize(handle_);
  } else {
    reset();
    entry_->in_use = false;
  }
  handle_ = nullptr;
}

// The parameters are views of the caller's data until the run is over: SQLite copies them (TRANSIENT),
// because a row is small and a lifetime mistake here would be silent.
Statement& Statement::bind(std::int64_t value) {
  if (bind_status_ == SQLITE_OK) bind_status_ = sqlite3_bind_int64(handle_, next_++, value);
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  const char* data = text.empty() ? "" : text.data();
  if (bind_status_ == SQLITE_OK) {
    bind_status_ = sqlite3_bind_text64(handle_, next_++, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  return *this;
}

Statement& Statement::bind_blob(std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  if (bind_status_ == SQLITE_OK) {
    bind_status_ = sqlite3_bind_blob64(handle_, next_++, data, bytes.size(), SQLITE_TRANSIENT);
  }
  return *this;
}

Statement& Statement::bind_null() {
  if (bind_status_ == SQLITE_OK) bind_status_ = sqlite3_bind_null(handle_, next_++);
  return *this;
}

Result<bool> Statement::step() {
  if (bind_status_ != SQLITE_OK) return database_->failure(bind_status_, "bind a value");
  const int status = sqlite3_step(handle_);
  if (status == SQLITE_ROW) return true;
  if (status == SQLITE_DONE) return false;
  const bool writes = sqlite3_stmt_readonly(handle_) == 0;
  return database_->failure(status, writes ? "write" : "read");
}

Result<void> Statement::run() {
  auto row = step();
  if (!row) return row.error();
  return {};
}

void Statement::reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  next_ = 1;
  bind_status_ = SQLITE_OK;
}

bool Statement::is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string Statement::text(int column) const {
  const auto* data = sqlite3_column_text(handle_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return data == nullptr ? std::string{} : std::string{reinterpret_cast<const char*>(data), size};
}

std::string Statement::blob(int column) const {
  const auto* data = sqlite3_column_blob(handle_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
  return data == nullptr ? std::string{} : std::string{static_cast<const char*>(data), size};
}

}  // namespace agent::journal::sqlite
