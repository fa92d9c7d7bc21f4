// Small durable maps, one for each plugin instance.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/ids.hpp"
#include "journal/sqlite.hpp"

namespace agent::journal {

inline constexpr std::size_t kLongestKey = 128;
inline constexpr std::int64_t kLargestMap = 64 * 1024;  // keys and values of one instance together, in bytes

class KvStore {
 public:
  explicit KvStore(sqlite::Database& database) : database_(database) {}
  domain::Result<std::optional<std::string>> get(const domain::InstanceName& instance, std::string_view key);
  // invalid: past the bounds; nothing was written. put and remove run inside a transaction.
  domain::Result<void> put(const domain::InstanceName& instance, std::string_view key,
                           std::string_view value);
  domain::Result<void> remove(const domain::InstanceName& instance,
                              std::string_view key);  // absent is success
  // The keys that begin with `prefix`, in byte order.
  domain::Result<std::vector<std::string>> list(const domain::InstanceName& instance,
                                                std::string_view prefix);

 private:
  sqlite::Database& database_;
};

}  // namespace agent::journal
