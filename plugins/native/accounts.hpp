// The accounts that jobs run as.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "native/settings/accounts.hpp"

namespace native {

struct Account {
  std::string name;  // a bare number stands for itself
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  bool operator==(const Account&) const = default;
};

// Who this daemon is.
struct Self {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};
Self self();

// What the machine's account database says.
struct AccountDatabase {
  std::function<std::optional<Account>(const std::string& name)> by_name;
  std::function<std::optional<Account>(std::uint32_t uid)> by_uid;
};
AccountDatabase system_accounts();

struct Accounts {
  bool shared = false;        // all attempts run as the daemon's own account
  std::vector<Account> pool;  // otherwise one of these each
};

// Throws rmgr::Error (invalid) with what is wrong and what to do.
Accounts resolve_accounts(const AccountSettings& settings, const Self& self, const AccountDatabase& database);

}  // namespace native
