// What a Database owns; for the files of the wrapper only.
#pragma once

#include <sqlite3.h>

#include <string>
#include <unordered_map>

#include "journal/sqlite.hpp"

namespace agent::journal::sqlite {

struct Finalize {
  void operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }
};
struct Close {
  void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
};

struct Statement::Entry {
  std::unique_ptr<sqlite3_stmt, Finalize> handle;
  bool in_use = false;
};

struct Database::Connection {
  std::string path;
  std::unique_ptr<sqlite3, Close> handle;
  std::unordered_map<std::string, Statement::Entry> cache;  // destroyed before the handle
  bool damaged = false;
};

}  // namespace agent::journal::sqlite
