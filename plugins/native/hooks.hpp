// The operator's hooks around each attempt: `before` runs in its preparation, `after` once nothing of its job
// is left. They run as this agent itself, under the host's supervisor, which ends them with everything they
// started when their time is over, whether an agent runs or not.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "native/hook_ledger.hpp"
#include "native/settings/hooks.hpp"
#include "rmgr/call.hpp"
#include "rmgr/host.hpp"

namespace native {

// Whose hooks run. Views that live as long as the call.
struct HookSubject {
  std::string_view attempt;
  std::string_view policy;
  std::string_view runner;
  std::string_view runtime;
  std::string account;
};

// Thread-safe; never two calls for one attempt at once.
class Hooks {
 public:
  explicit Hooks(rmgr::Host host) : host_(host), ledger_(host.kv()) {}

  // Throws `invalid` for a program that cannot be used now.
  static void check(const HookSettings& settings);

  // Runs `before` to its end, unless it ended well before. Whatever it throws, nothing of it runs any more:
  // `invalid` if it could not be executed, `retry` if it failed or took too long.
  void before(const rmgr::Call& call, const HookSettings& settings, const HookSubject& subject);

  // Runs `after` for an attempt that `before` was called for. Throws `retry` while it runs, to be called
  // again. Once it returns, it ran to its end, well or not, or was given up after some tries.
  void after(const rmgr::Call& call, const HookSettings& settings, const HookSubject& subject);

  // Last: what is on record of an attempt whose hooks are over.
  void forget(std::string_view attempt);

  // What the operator should know of the last runs for a policy; empty if they went well.
  [[nodiscard]] std::string note(std::string_view policy) const;

 private:
  struct Watch {
    std::chrono::steady_clock::time_point since;  // when this object first saw that it runs
    int looks = 0;
    int failures = 0;
  };

  void begin(const rmgr::Call& call, const char* name, const HookCommand& hook, const HookSubject& subject,
             HookState& state);
  // False if it was given up.
  bool begin_after(const rmgr::Call& call, const HookCommand& hook, const HookSubject& subject,
                   HookState& state);
  // False if it must be begun anew: it never ran, or its supervisor is gone and nobody knows how far it came.
  bool conclude(const rmgr::Call& call, const HookCommand& hook, const HookSubject& subject,
                const HookState& state);
  void note_failure(const char* name, const HookSubject& subject, const std::string& what);
  void note_success(const char* name, const HookSubject& subject);
  void finish(const HookSubject& subject, HookState state);
  Watch& watch(std::string_view attempt);  // with the lock held

  rmgr::Host host_;
  HookLedger ledger_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> failed_;  // by hook and policy: how the last run failed
  std::map<std::string, Watch, std::less<>> watches_;       // by attempt
};

}  // namespace native
