#include "native/accounts.hpp"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "rmgr/error.hpp"

namespace native {
namespace {

using Lookup = std::function<int(passwd*, char*, std::size_t, passwd**)>;

std::optional<Account> look_up(const Lookup& lookup) {
  for (std::size_t size = 4096; size <= (std::size_t{1} << 20U); size *= 2) {
    std::string buffer(size, '\0');
    passwd entry{};
    passwd* found = nullptr;
    const int failure = lookup(&entry, buffer.data(), buffer.size(), &found);
    if (failure == ERANGE) continue;
    if (found == nullptr) return std::nullopt;
    return Account{found->pw_name, found->pw_uid, found->pw_gid};
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const std::string& message) { throw rmgr::Error(rmgr::Status::invalid, message); }

void check(const Account& account, const Self& self, std::set<std::uint32_t>& seen) {
  if (account.uid == 0 || account.gid == 0) {
    refuse("run_as: " + account.name + " is root or in root's group; name an account without rights.");
  }
  if (account.uid == self.uid || account.gid == self.gid) {
    refuse("run_as: " + account.name +
           " is this agent's own account or in its group, so jobs could read its "
           "credentials; name another account.");
  }
  // 16 and 32 bits of "nobody", which unrelated services share.
  if (account.uid == 65534 || account.uid == 65535 || account.uid == 4294967295U) {
    refuse("run_as: " + account.name +
           " is the account that everything without an owner shares; name another.");
  }
  if (!seen.insert(account.uid).second) {
    refuse("run_as: user " + std::to_string(account.uid) +
           " is named twice; each attempt needs an account of its own.");
  }
}

std::vector<Account> named(const AccountSettings& settings, const AccountDatabase& database) {
  std::vector<Account> accounts;
  for (const std::string& name : settings.pool) {
    const auto account = database.by_name(name);
    if (!account)
      refuse("run_as.pool: there is no account " + name + "; create it or remove it from the pool.");
    accounts.push_back(*account);
  }
  return accounts;
}

std::vector<Account> numbered(const UidRange& range, const AccountDatabase& database) {
  std::vector<Account> accounts;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const std::uint32_t number = range.first + i;
    const auto taken = database.by_uid(number);
    if (taken) {
      refuse("run_as.uid_range: " + std::to_string(number) + " is the account " + taken->name +
             "; everything that it runs would be ended with a job, so choose other numbers or use a pool.");
    }
    accounts.push_back(Account{std::to_string(number), number, number});
  }
  return accounts;
}

}  // namespace

Self self() {
  const auto entry = system_accounts().by_uid(::geteuid());
  return {entry ? entry->name : std::to_string(::geteuid()), ::geteuid(), ::getegid()};
}

AccountDatabase system_accounts() {
  return {[](const std::string& name) {
            return look_up([&name](passwd* entry, char* buffer, std::size_t size, passwd** found) {
              return ::getpwnam_r(name.c_str(), entry, buffer, size, found);
            });
          },
          [](std::uint32_t uid) {
            return look_up([uid](passwd* entry, char* buffer, std::size_t size, passwd** found) {
              return ::getpwuid_r(uid, entry, buffer, size, found);
            });
          }};
}

Accounts resolve_accounts(const AccountSettings& settings, const Self& self,
                          const AccountDatabase& database) {
  const int choices = (settings.pool.empty() ? 0 : 1) + (settings.uid_range ? 1 : 0) +
                      (settings.allow_shared_account ? 1 : 0);
  if (choices > 1) {
    refuse("Only one of run_as.pool, run_as.uid_range and allow_shared_account may be configured.");
  }
  if (choices == 0 && self.uid == 0) {
    refuse(
        "Jobs would run as root: configure run_as.pool with one account for each concurrent runner, or "
        "allow_shared_account: true if jobs may do everything that root can.");
  }
  if (choices == 0) {
    refuse(
        "This agent is not root, so jobs can only run as its own account and read its credentials; configure "
        "allow_shared_account: true to accept that, or run the agent as root with run_as.pool.");
  }
  if (settings.allow_shared_account) return {true, {}};
  if (self.uid != 0) {
    refuse(
        "run_as needs an agent that runs as root, because only root can start a process as another account.");
  }
  Accounts accounts;
  accounts.pool = settings.uid_range ? numbered(*settings.uid_range, database) : named(settings, database);
  std::set<std::uint32_t> seen;
  for (const Account& account : accounts.pool)
    check(account, self, seen);
  return accounts;
}

}  // namespace native
