#include "support/everything.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

namespace testkit {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  // Not by iterators: those throw where a file of /proc goes while it is read.
  std::ifstream input(file, std::ios::binary);
  std::ostringstream all;
  all << input.rdbuf();
  return all.str();
}

std::string files_below(const fs::path& root, const std::function<bool(const fs::path&)>& skip) {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && !(skip && skip(entry.path()))) all += contents(entry.path());
  }
  return all;
}

std::set<std::string> credentials_in(const std::string& text) {
  constexpr std::string_view key = "\"token\":\"";
  std::set<std::string> found;
  for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;) {
    at += key.size();
    found.insert(text.substr(at, text.find('"', at) - at));
  }
  return found;
}

std::string journal_dump(const std::string& path) {
  sqlite3* database = nullptr;
  std::string dump;
  if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) return dump;
  const auto append = [](void* into, int columns, char** values, char**) {
    for (int column = 0; column < columns; ++column) {
      if (values[column] != nullptr) static_cast<std::string*>(into)->append(values[column]).append("|");
    }
    return 0;
  };
  std::string tables;
  sqlite3_exec(database, "SELECT name FROM sqlite_schema WHERE type='table'", append, &tables, nullptr);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = tables.find('|', begin)) != std::string::npos; begin = end + 1) {
    const std::string select = "SELECT * FROM \"" + tables.substr(begin, end - begin) + "\"";
    sqlite3_exec(database, select.c_str(), append, &dump, nullptr);
  }
  sqlite3_close(database);
  return dump;
}

std::string journal_value(const std::string& path, const std::string& query) {
  sqlite3* database = nullptr;
  std::string value;
  const auto take = [](void* into, int columns, char** values, char**) {
    auto& text = *static_cast<std::string*>(into);
    if (text.empty() && columns > 0 && values[0] != nullptr) text = values[0];
    return 0;
  };
  if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK)
    sqlite3_exec(database, query.c_str(), take, &value, nullptr);
  sqlite3_close(database);
  return value;
}

bool run_sql(const std::string& path, const std::string& statement) {
  sqlite3* database = nullptr;
  const bool done = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK &&
                    sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  sqlite3_close(database);
  return done;
}

std::set<std::string> crash_points_in(const fs::path& directory) {
  constexpr std::string_view begin = "RMGR_CRASH_POINT(\"";
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = contents(entry.path());
    for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
      at += begin.size();
      const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.+", at);
      if (end > at && text.compare(std::min(end, text.size()), 2, "\")") == 0)
        names.insert(text.substr(at, end - at));
    }
  }
  return names;
}

std::string all_command_lines() {
  std::string lines;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") == std::string::npos) {
      lines += contents(entry.path() / "cmdline");
      lines.push_back('\n');
    }
  }
  return lines;
}

}  // namespace testkit
