// What the tests of a lane share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "plugin/lane.hpp"

namespace fixture {

using agent::domain::Error;
using agent::domain::ErrorCode;
using agent::domain::Millis;
using agent::domain::Result;
using agent::plugin::Call;
using agent::plugin::Lane;
using agent::plugin::LaneOptions;

inline constexpr Millis long_time{60'000};

// A door that calls wait at; opened at the latest when the test ends.
class Door {
 public:
  ~Door() { open(); }
  void open() {
    if (!opened_.exchange(true)) promise_.set_value();
  }
  void pass() { future_.wait(); }

 private:
  std::atomic<bool> opened_{false};
  std::promise<void> promise_;
  std::shared_future<void> future_ = promise_.get_future().share();
};

// Collects one answer and fails if there is a second.
class Answer {
 public:
  std::function<void(Result<int>)> taker() {
    return [state = state_](Result<int> result) {
      if (state->taken.exchange(true)) {
        ADD_FAILURE() << "answered twice";
        return;
      }
      state->promise.set_value(std::move(result));
    };
  }
  std::optional<Result<int>> get() {
    if (state_->future.wait_for(std::chrono::seconds(30)) != std::future_status::ready) return std::nullopt;
    return state_->future.get();
  }
  bool ready() { return state_->future.wait_for(Millis{0}) == std::future_status::ready; }
  ErrorCode code() {
    auto result = get();
    EXPECT_TRUE(result && !result->ok());
    return result && !result->ok() ? result->error().code : ErrorCode::corrupt;
  }

 private:
  struct State {
    std::atomic<bool> taken{false};
    std::promise<Result<int>> promise;
    std::future<Result<int>> future = promise.get_future();
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(Millis{10});
  }
  return false;
}

inline LaneOptions lane_options(Millis grace = long_time) {
  LaneOptions chosen;
  chosen.name = "test";
  chosen.grace = grace;
  return chosen;
}

}  // namespace fixture
