#include "records.hpp"

namespace processes {
namespace {

constexpr std::string_view prefix = "attempt.";

std::string key_of(std::string_view attempt) { return std::string(prefix) + std::string(attempt); }

}  // namespace

std::optional<Record> Records::find(std::string_view attempt) const {
  const std::optional<std::string> value = kv_.get(key_of(attempt));
  if (!value) return std::nullopt;
  const std::size_t space = value->find(' ');
  if (space == std::string::npos)
    throw rmgr::Error(
        rmgr::Status::internal,
        "A stored record of the template provider is damaged; remove the instance's stored values.");
  return Record{value->substr(0, space), std::string(attempt), value->substr(space + 1)};
}

std::vector<Record> Records::all() const {
  std::vector<Record> records;
  for (const std::string& key : kv_.list(prefix)) {
    // It may have been removed since the keys were listed: the two lanes run side by side.
    if (std::optional<Record> record = find(std::string_view(key).substr(prefix.size())))
      records.push_back(std::move(*record));
  }
  return records;
}

void Records::keep(const Record& record) const {
  kv_.put(key_of(record.attempt), record.host + ' ' + record.generation);
}

void Records::drop(std::string_view attempt) const { kv_.remove(key_of(attempt)); }

}  // namespace processes
