// A small move-only layer over SQLite's C interface: every failure is a Result, every handle has an owner.
// One connection belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "domain/result.hpp"
#include "domain/time.hpp"

struct sqlite3_stmt;

namespace agent::journal::sqlite {

using domain::Error;
using domain::Result;

class Database;

// One run of a prepared statement. Parameters are bound in order, each `bind` taking the next one; a binding
// that fails is reported by `step` or `run`. Destroying it resets the statement and gives it back to the
// cache of its Database, which must outlive it.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& bind(std::int64_t value);
  Statement& bind(bool value) { return bind(std::int64_t{value ? 1 : 0}); }
  Statement& bind(std::string_view text);
  Statement& bind(const std::string& text) { return bind(std::string_view{text}); }
  Statement& bind(const char* text) { return bind(std::string_view{text}); }
  Statement& bind_blob(std::string_view bytes);
  Statement& bind_null();

  // True: a row is there. False: the end.
  Result<bool> step();
  // For statements that answer no rows.
  Result<void> run();
  // Makes it ready for new parameters.
  void reset();

  // Columns of the present row, from 0. Views and types are those of the row; text is copied.
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::string blob(int column) const;

 private:
  friend class Database;
  struct Entry;
  Statement(Database& database, sqlite3_stmt* handle, Entry* entry)
      : database_(&database), handle_(handle), entry_(entry) {}
  void give_back() noexcept;

  Database* database_ = nullptr;
  sqlite3_stmt* handle_ = nullptr;
  Entry* entry_ = nullptr;  // null: not from the cache, finalized at the end
  int next_ = 1;
  int bind_status_ = 0;
};

enum class Access { read_only, read_write, create };

class Database {
 public:
  // Opens without following symbolic links; hardened (defensive, no trusted schema, no string literals in
  // double quotes) and bounded. Nothing is written by this call. A close never checkpoints until `keep_tidy`,
  // so that a damaged file stays as it was found.
  static Result<Database> open(const std::string& path, Access access, const std::string& vfs);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  [[nodiscard]] const std::string& path() const;
  void busy_timeout(domain::Millis patience);
  void keep_tidy();

  // Prepared once for each text.
  Result<Statement> prepare(std::string_view sql);
  // Runs every statement of a script; rows are ignored.
  Result<void> execute(const std::string& script);
  // The first column of the first row; not_found without a row.
  Result<std::int64_t> integer(std::string_view sql);
  Result<std::string> text(std::string_view sql);

  // Rows that the last statement changed.
  [[nodiscard]] std::int64_t changes() const;
  [[nodiscard]] bool in_transaction() const;
  // Damage was seen; from then on nothing is written through this connection.
  [[nodiscard]] bool damaged() const;

  // The failure of the call just made. `doing` completes "cannot …".
  Error failure(int status, std::string_view doing);

 private:
  friend class Statement;
  struct Connection;
  explicit Database(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

// BEGIN IMMEDIATE; rolled back when destroyed without a successful commit.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&& other) = delete;
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_ = nullptr;
};

// What an operator can do about a damaged journal: one sentence for the end of every such error.
std::string way_out(const std::string& path);

}  // namespace agent::journal::sqlite
