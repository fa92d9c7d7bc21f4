// Time that only a test moves.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "rmgr/error.hpp"

namespace rmgr::testing {

// Thread-safe. A plugin that sleeps moves the clock itself, so a test with one thread never blocks; after
// `hold_sleepers` sleepers wait until another thread advances the clock or cancels their call.
class VirtualClock {
 public:
  [[nodiscard]] Millis wall() const { return wall_start + boot(); }
  [[nodiscard]] Millis boot() const {
    const std::lock_guard lock(mutex_);
    return now_;
  }
  void advance(Millis by) {
    std::map<std::uint64_t, std::function<void()>> watchers;
    {
      const std::lock_guard lock(mutex_);
      now_ += by;
      watchers = watchers_;
    }
    moved_.notify_all();
    for (const auto& [id, watcher] : watchers)
      watcher();
  }
  void hold_sleepers(bool hold = true) {
    const std::lock_guard lock(mutex_);
    hold_ = hold;
  }

  // Waits on the clock until `due` or until `ended` says so.
  void sleep_until(Millis due, const std::function<bool()>& ended) {
    std::unique_lock lock(mutex_);
    if (!hold_) {
      const Millis by = due - now_;
      lock.unlock();
      if (by > Millis{0} && !ended()) advance(by);
      return;
    }
    moved_.wait(lock, [&] { return now_ >= due || ended(); });
  }
  void wake() {
    // The lock orders this behind a sleeper's look at its condition.
    { const std::lock_guard lock(mutex_); }
    moved_.notify_all();
  }

  // `moved` runs after each advance, on the thread that advances.
  std::uint64_t watch(std::function<void()> moved) {
    const std::lock_guard lock(mutex_);
    watchers_.emplace(++last_, std::move(moved));
    return last_;
  }
  void unwatch(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    watchers_.erase(id);
  }

 private:
  static constexpr Millis wall_start{1'700'000'000'000};
  mutable std::mutex mutex_;
  std::condition_variable moved_;
  Millis now_{1'000'000};
  bool hold_ = false;
  std::map<std::uint64_t, std::function<void()>> watchers_;
  std::uint64_t last_ = 0;
};

}  // namespace rmgr::testing
