// A call of our own, for what has to be undone after the host's call has ended.
#pragma once

#include <chrono>

#include "rmgr/call.hpp"

namespace plugins::engine {

// Is over after its time and cannot be cancelled. Outlives every use of call().
class Patience {
 public:
  explicit Patience(std::chrono::milliseconds time);
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;
  [[nodiscard]] rmgr::Call call() const { return rmgr::Call(&abi_); }

 private:
  std::chrono::steady_clock::time_point end_;
  rmgr_call abi_{};
};

}  // namespace plugins::engine
