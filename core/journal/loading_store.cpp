#include "journal/loading_store.hpp"

namespace agent::journal {

using domain::Result;

Result<std::int64_t> LoadingStore::begin(std::string_view digest) {
  auto statement = database_.prepare(
      "INSERT INTO loading (digest, begun) VALUES (?1, 1) "
      "ON CONFLICT (digest) DO UPDATE SET begun = begun + 1 RETURNING begun - 1");
  if (!statement) return statement.error();
  auto row = statement->bind(digest).step();
  if (!row) return row.error();
  const std::int64_t left_over = statement->integer(0);
  if (auto end = statement->step(); !end) return end.error();
  return left_over;
}

Result<void> LoadingStore::end(std::string_view digest) {
  auto statement = database_.prepare("DELETE FROM loading WHERE digest = ?1");
  if (!statement) return statement.error();
  return statement->bind(digest).run();
}

}  // namespace agent::journal
