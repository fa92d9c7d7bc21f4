#include "journal/sqlite.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "journal/sqlite_connection.hpp"

namespace agent::journal::sqlite {

using domain::ErrorCode;

namespace {

// Far above every row of the journal, far below what could hurt the process.
constexpr int kLargestValue = 4 * 1024 * 1024;

// The last argument of these calls receives the resulting state; null: nobody asks.
int configure(sqlite3* handle, int option, int value) {
  return sqlite3_db_config(handle, option, value, static_cast<int*>(nullptr));
}

int harden(sqlite3* handle) {
  for (const auto& [option, value] :
       {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        std::pair{SQLITE_DBCONFIG_DQS_DDL, 0}, std::pair{SQLITE_DBCONFIG_DQS_DML, 0},
        std::pair{SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1}}) {
    if (const int status = configure(handle, option, value); status != SQLITE_OK) return status;
  }
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kLargestValue);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1);  // VACUUM INTO attaches its target
  return SQLITE_OK;
}

int flags_of(Access access) {
  constexpr int common =
      SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  switch (access) {
    case Access::read_only: return common | SQLITE_OPEN_READONLY;
    case Access::read_write: return common | SQLITE_OPEN_READWRITE;
    case Access::create: return common | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  }
  return common | SQLITE_OPEN_READONLY;
}

}  // namespace

Database::Database(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Database::Database(Database&& other) noexcept = default;
Database& Database::operator=(Database&& other) noexcept = default;
Database::~Database() = default;

Result<Database> Database::open(const std::string& path, Access access, const std::string& vfs) {
  auto connection = std::make_unique<Connection>();
  connection->path = path;
  sqlite3* handle = nullptr;
  const int status =
      sqlite3_open_v2(path.c_str(), &handle, flags_of(access), vfs.empty() ? nullptr : vfs.c_str());
  connection->handle.reset(handle);
  Database database{std::move(connection)};
  if (handle == nullptr) return Error{ErrorCode::retry, "journal " + path + ": no memory to open it.", {}};
  if (status != SQLITE_OK) return database.failure(status, "open it");
  if (const int hardened = harden(handle); hardened != SQLITE_OK)
    return database.failure(hardened, "configure it");
  return database;
}

const std::string& Database::path() const { return connection_->path; }

void Database::busy_timeout(domain::Millis patience) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  sqlite3_busy_timeout(connection_->handle.get(),
                       static_cast<int>(std::min<std::int64_t>(patience.count(), most)));
}

void Database::keep_tidy() { configure(connection_->handle.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0); }

Result<Statement> Database::prepare(std::string_view sql) {
  auto [place, fresh] = connection_->cache.try_emplace(std::string{sql});
  Statement::Entry& entry = place->second;
  if (!fresh && !entry.in_use) {
    entry.in_use = true;
    return Statement{*this, entry.handle.get(), &entry};
  }
  sqlite3_stmt* handle = nullptr;
  const int status = sqlite3_prepare_v3(connection_->handle.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  if (status != SQLITE_OK) {
    if (fresh) connection_->cache.erase(place);
    return failure(status, "prepare a statement");
  }
  if (!fresh) return Statement{*this, handle, nullptr};
  entry.handle.reset(handle);
  entry.in_use = true;
  return Statement{*this, handle, &entry};
}

Result<void> Database::execute(const std::string& script) {
  const int status = sqlite3_exec(connection_->handle.get(), script.c_str(), nullptr, nullptr, nullptr);
  if (status != SQLITE_OK) return failure(status, "run a script");
  return {};
}

Result<std::int64_t> Database::integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.error();
  auto row = statement->step();
  if (!row) return row.error();
  if (!*row) return Error{ErrorCode::not_found, "journal " + path() + ": no row.", {}};
  return statement->integer(0);
}

Result<std::string> Database::text(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.error();
  auto row = statement->step();
  if (!row) return row.error();
  if (!*row) return Error{ErrorCode::not_found, "journal " + path() + ": no row.", {}};
  return statement->text(0);
}

std::int64_t Database::changes() const { return sqlite3_changes64(connection_->handle.get()); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_->handle.get()) == 0; }
bool Database::damaged() const { return connection_->damaged; }

Result<Transaction> Transaction::begin(Database& database) {
  if (database.damaged()) {
    return Error{
        ErrorCode::corrupt, "journal " + database.path() + " is damaged. " + way_out(database.path()), {}};
  }
  auto statement = database.prepare("BEGIN IMMEDIATE");
  if (!statement) return statement.error();
  if (auto begun = statement->run(); !begun) return begun.error();
  return Transaction{database};
}

Transaction::Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  // A failed write may have rolled back already. What a rollback itself answers changes nothing: the
  // transaction is over or the connection is unusable, and the next call says so.
  if (database_ == nullptr || !database_->in_transaction()) return;
  if (auto statement = database_->prepare("ROLLBACK"); statement) static_cast<void>(statement->run());
}

Result<void> Transaction::commit() {
  auto statement = database_->prepare("COMMIT");
  if (!statement) return statement.error();
  if (auto done = statement->run(); !done) return done.error();
  database_ = nullptr;
  return {};
}

}  // namespace agent::journal::sqlite
