// Marks around the loading of a library: one that nobody took away is what a crash leaves.
#pragma once

#include <cstdint>
#include <string_view>

#include "journal/sqlite.hpp"

namespace agent::journal {

class LoadingStore {
 public:
  explicit LoadingStore(sqlite::Database& database) : database_(database) {}
  // How often in a row the mark was left over before this call. Both run inside a transaction.
  domain::Result<std::int64_t> begin(std::string_view digest);
  domain::Result<void> end(std::string_view digest);

 private:
  sqlite::Database& database_;
};

}  // namespace agent::journal
