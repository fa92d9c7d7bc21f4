// Which job account belongs to which attempt: kept in the instance's durable map, so that a restart neither
// gives an account away twice nor loses one.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "native/accounts.hpp"
#include "rmgr/host.hpp"

namespace native {

struct Assignment {
  std::uint32_t uid = 0;
  std::string host;
  std::string attempt;
  std::string generation;
};

// Thread-safe. The map is read once; this object is the only one that writes it.
class Ledger {
 public:
  explicit Ledger(rmgr::Kv kv) : kv_(kv) {}

  // The account of an attempt: the one it has, else a free one of the pool, durable before it is answered.
  // Throws `retry` when none is free and `invalid` when its account left the pool.
  Account assign(const std::vector<Account>& pool, const Assignment& wanted);
  [[nodiscard]] std::optional<Assignment> find(std::string_view attempt) const;
  [[nodiscard]] std::vector<Assignment> all() const;
  [[nodiscard]] bool has_free(const std::vector<Account>& pool) const;
  // Gives the account back. Nothing happens if it belongs to another attempt by now.
  void release(const Assignment& assignment);

 private:
  const std::vector<Assignment>& known() const;  // with the lock held
  void change(const std::function<void()>& write);

  rmgr::Kv kv_;
  mutable std::mutex mutex_;
  mutable std::optional<std::vector<Assignment>> known_;
};

}  // namespace native
