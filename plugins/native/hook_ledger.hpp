// How far the hooks of each attempt are: kept in the instance's durable map, so that a restart finds a hook
// that runs and does not begin one twice.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "rmgr/host.hpp"

namespace native {

enum class HookStage {
  before,  // the hook before was begun, and did not end well
  ready,   // nothing stands between the attempt and its job
  after,   // the hook after was begun
  done,    // it ended, or was given up
};

struct HookState {
  HookStage stage = HookStage::before;
  int tries = 0;                                 // of `after`: how often it was begun
  std::optional<rmgr::ProcessIdentity> process;  // of `before` and `after`
};

// Thread-safe. The map is read once; this object is the only one that writes it.
class HookLedger {
 public:
  explicit HookLedger(rmgr::Kv kv) : kv_(kv) {}
  // Throws `internal` if the record is damaged.
  [[nodiscard]] std::optional<HookState> find(std::string_view attempt) const;
  // Durable when it returns.
  void put(std::string_view attempt, const HookState& state);
  void remove(std::string_view attempt);

 private:
  std::map<std::string, std::string, std::less<>>& known() const;  // with the lock held

  rmgr::Kv kv_;
  mutable std::mutex mutex_;
  mutable std::optional<std::map<std::string, std::string, std::less<>>> known_;
};

}  // namespace native
