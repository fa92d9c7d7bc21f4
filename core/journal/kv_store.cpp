#include "journal/kv_store.hpp"

#include <algorithm>

namespace agent::journal {

using domain::Error;
using domain::ErrorCode;
using domain::InstanceName;
using domain::Result;

namespace {

Error out_of_bounds(const InstanceName& instance, const std::string& what) {
  return Error{
      ErrorCode::invalid, "the stored map of " + instance.str() + ": " + what + "; nothing was written.", {}};
}

}  // namespace

Result<std::optional<std::string>> KvStore::get(const InstanceName& instance, std::string_view key) {
  auto statement = database_.prepare("SELECT value FROM kv WHERE instance = ?1 AND key = ?2");
  if (!statement) return statement.error();
  auto row = statement->bind(instance.str()).bind(key).step();
  if (!row) return row.error();
  if (!*row) return std::optional<std::string>{};
  return std::optional<std::string>{statement->blob(0)};
}

Result<void> KvStore::put(const InstanceName& instance, std::string_view key, std::string_view value) {
  if (key.empty() || key.size() > kLongestKey) return out_of_bounds(instance, "a key is 1 to 128 bytes");
  // Compared before anything is added, so that no size can overflow the sum.
  if (value.size() > static_cast<std::size_t>(kLargestMap)) {
    return out_of_bounds(instance, "keys and values together are at most 64 KiB");
  }
  {
    auto others = database_.prepare(
        "SELECT coalesce(sum(length(CAST(key AS BLOB)) + length(value)), 0) FROM kv WHERE instance = ?1 AND "
        "key <> ?2");
    if (!others) return others.error();
    auto row = others->bind(instance.str()).bind(key).step();
    if (!row) return row.error();
    if (others->integer(0) + static_cast<std::int64_t>(key.size() + value.size()) > kLargestMap) {
      return out_of_bounds(instance, "keys and values together are at most 64 KiB");
    }
  }
  auto statement = database_.prepare(
      "INSERT INTO kv (instance, key, value) VALUES (?1, ?2, ?3) "
      "ON CONFLICT (instance, key) DO UPDATE SET value = excluded.value");
  if (!statement) return statement.error();
  return statement->bind(instance.str()).bind(key).bind_blob(value).run();
}

Result<void> KvStore::remove(const InstanceName& instance, std::string_view key) {
  auto statement = database_.prepare("DELETE FROM kv WHERE instance = ?1 AND key = ?2");
  if (!statement) return statement.error();
  return statement->bind(instance.str()).bind(key).run();
}

Result<std::vector<std::string>> KvStore::list(const InstanceName& instance, std::string_view prefix) {
  auto statement = database_.prepare("SELECT key FROM kv WHERE instance = ?1 AND key >= ?2 ORDER BY key");
  if (!statement) return statement.error();
  statement->bind(instance.str()).bind(prefix);
  std::vector<std::string> keys;
  for (;;) {
    auto row = statement->step();
    if (!row) return row.error();
    if (!*row) return keys;
    auto key = statement->text(0);
    if (!key.starts_with(prefix)) return keys;
    keys.push_back(std::move(key));
  }
}

}  // namespace agent::journal
