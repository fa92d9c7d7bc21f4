// What all parts of one test host share.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmgr/abi/entry.h"
#include "rmgr/testing/clock.hpp"
#include "rmgr/testing/processes.hpp"
#include "rmgr/testing/record.hpp"

namespace rmgr::testing::detail {

class CheckedCall;

struct World {
  Record record;
  VirtualClock clock;
  std::shared_ptr<Processes> processes;
  std::string root;  // of all directories; absolute
  std::uint16_t abi_major = RMGR_ABI_MAJOR;
  std::uint16_t abi_minor = RMGR_ABI_MINOR;

  std::mutex mutex;                            // everything below
  std::set<std::string> withheld;              // services that this host does not have
  std::map<std::string, std::string> secrets;  // by reference
  std::map<std::string, std::map<std::string, std::string>>
      kv;                          // by instance name, so that it survives an instance
  std::set<std::string> released;  // keys of processes
  std::set<const rmgr_call*> open_calls;
  // Kept to the end, for plugins that use one late.
  std::vector<std::shared_ptr<CheckedCall>> calls;
  std::vector<std::shared_ptr<void>> ended;

  [[nodiscard]] bool is_open(const rmgr_call* call) {
    const std::lock_guard lock(mutex);
    return open_calls.count(call) != 0;
  }
};

}  // namespace rmgr::testing::detail
