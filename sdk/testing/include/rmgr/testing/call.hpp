// One call as the test wants it: how long it may take, when it is cancelled, when its sink has enough.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "rmgr/error.hpp"
#include "rmgr/testing/clock.hpp"

namespace rmgr::testing {

// Copies stand for the same call, so a test keeps one to cancel while the call runs on another thread. For
// one call.
class CallControl {
 public:
  explicit CallControl(Millis time = Millis{60'000}) : state_(std::make_shared<State>()) {
    state_->time = time;
  }

  // May come before the call, during it, from any thread. Runs the plugin's cancel functions.
  void cancel() const { state_->cancel(); }
  // Cancels when the plugin asks for the nth time whether the call is still wanted or how long it may take.
  CallControl& cancel_at_question(int n) {
    state_->cancel_at = n;
    return *this;
  }
  // The sink takes `count` items and refuses the next one with `status`.
  CallControl& refuse_items_after(std::size_t count, Status status = Status::cancelled) {
    state_->most_items = count;
    state_->refusal = status;
    return *this;
  }
  // How often the plugin asked.
  [[nodiscard]] int questions() const { return state_->questions; }
  [[nodiscard]] bool cancelled() const { return state_->cancelled; }

  class State {
   public:
    Millis time{0};
    std::atomic<int> cancel_at{0};
    std::atomic<int> questions{0};
    std::atomic<bool> cancelled{false};
    std::optional<std::size_t> most_items;
    Status refusal = Status::cancelled;

    void begin(VirtualClock& clock) {
      clock_ = &clock;
      deadline_ = clock.boot() + time;
    }
    [[nodiscard]] Millis remaining() {
      count_question();
      return std::max(deadline_ - clock_->boot(), Millis{0});
    }
    [[nodiscard]] bool requested() {
      count_question();
      return cancelled;
    }
    // As the real host does at the deadline.
    void look_at_clock() {
      if (clock_->boot() >= deadline_) cancel();
    }
    [[nodiscard]] bool overdue() const { return clock_->boot() >= deadline_; }

    void cancel() {
      std::unique_lock lock(mutex_);
      if (cancelled.exchange(true)) return;
      runner_ = std::this_thread::get_id();
      while (!functions_.empty()) {
        auto node = functions_.extract(functions_.begin());
        running_ = node.key();
        lock.unlock();
        node.mapped()();
        lock.lock();
        running_ = 0;
        idle_.notify_all();
      }
      runner_ = {};
      lock.unlock();
      if (clock_ != nullptr) clock_->wake();
    }
    std::uint64_t on_cancel(std::function<void()> fn) {
      std::unique_lock lock(mutex_);
      const std::uint64_t id = ++last_;
      if (!cancelled) {
        functions_.emplace(id, std::move(fn));
        return id;
      }
      lock.unlock();
      fn();
      return id;
    }
    // Answers whether the number was ever given out.
    bool off_cancel(std::uint64_t id) {
      std::unique_lock lock(mutex_);
      if (id == 0 || id > last_) return false;
      functions_.erase(id);
      if (runner_ != std::this_thread::get_id()) idle_.wait(lock, [&] { return running_ != id; });
      return true;
    }
    [[nodiscard]] std::size_t registered() const {
      const std::lock_guard lock(mutex_);
      return functions_.size();
    }

   private:
    void count_question() {
      if (++questions == cancel_at) cancel();
    }
    VirtualClock* clock_ = nullptr;
    Millis deadline_{0};
    mutable std::mutex mutex_;
    std::condition_variable idle_;
    std::map<std::uint64_t, std::function<void()>> functions_;
    std::uint64_t last_ = 0;
    std::uint64_t running_ = 0;
    std::thread::id runner_;
  };
  [[nodiscard]] const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

}  // namespace rmgr::testing
