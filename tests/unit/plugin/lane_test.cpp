#include "plugin/lane.hpp"

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

namespace {

using agent::domain::Error;
using agent::domain::ErrorCode;
using agent::domain::Millis;
using agent::domain::Result;
using agent::plugin::Call;
using agent::plugin::Lane;
using agent::plugin::LaneOptions;

constexpr Millis long_time{60'000};

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

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(Millis{10});
  }
  return false;
}

LaneOptions options(Millis grace = long_time) {
  LaneOptions chosen;
  chosen.name = "test";
  chosen.grace = grace;
  return chosen;
}

TEST(Lane, RunsCallsInOrderOnItsThread) {
  Lane lane(options());
  std::vector<int> order;
  std::vector<Answer> answers(20);
  for (int i = 0; i < 20; ++i) {
    lane.submit<int>(
        "c", long_time,
        [&order, i](Call&) -> Result<int> {
          order.push_back(i);
          return i;
        },
        answers[static_cast<std::size_t>(i)].taker());
  }
  for (int i = 0; i < 20; ++i) {
    auto result = answers[static_cast<std::size_t>(i)].get();
    ASSERT_TRUE(result && result->ok());
    EXPECT_EQ(**result, i);
  }
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(Lane, SeveralThreadsRunCallsSideBySide) {
  LaneOptions chosen = options();
  chosen.threads = 2;
  Lane lane(chosen);
  Door door;
  Answer first;
  Answer second;
  lane.submit<int>(
      "c", long_time,
      [&](Call&) -> Result<int> {
        door.pass();
        return 1;
      },
      first.taker());
  lane.submit<int>(
      "c", long_time,
      [&](Call&) -> Result<int> {
        door.open();
        return 2;
      },
      second.taker());
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

TEST(Lane, TheDeadlineRunsFromTheStartOfTheCall) {
  Lane lane(options());
  Door door;
  Answer first;
  Answer second;
  lane.submit<int>(
      "c", long_time,
      [&](Call&) -> Result<int> {
        door.pass();
        return 1;
      },
      first.taker());
  Millis left{0};
  lane.submit<int>(
      "c", Millis{40'000},
      [&](Call& call) -> Result<int> {
        left = call.remaining();
        return 2;
      },
      second.taker());
  std::this_thread::sleep_for(Millis{20});
  door.open();
  ASSERT_TRUE(second.get());
  EXPECT_GT(left, Millis{39'000});
}

TEST(Lane, CancelIsRequestedAtTheDeadline) {
  Lane lane(options());
  Answer answer;
  lane.submit<int>(
      "c", Millis{20},
      [](Call& call) -> Result<int> {
        std::promise<void> cancelled;
        const auto registration = call.on_cancel([&] { cancelled.set_value(); });
        cancelled.get_future().wait();
        call.off_cancel(registration);
        EXPECT_EQ(call.remaining(), Millis{0});
        return Error{ErrorCode::cancelled, "cancelled", Millis{0}};
      },
      answer.taker());
  EXPECT_EQ(answer.code(), ErrorCode::cancelled);
  EXPECT_FALSE(lane.stuck());
}

TEST(Lane, AnOverdueCallMakesItStuckUntilItReturns) {
  Door door;
  Answer overdue;
  Answer queued;
  Answer later;
  Answer afterwards;
  Lane lane(options(Millis{20}));
  lane.submit<int>(
      "c", Millis{10},
      [&](Call&) -> Result<int> {
        door.pass();
        return 1;
      },
      overdue.taker());
  lane.submit<int>(
      "c", long_time,
      [&](Call&) -> Result<int> {
        ADD_FAILURE() << "ran";
        return 2;
      },
      queued.taker());
  EXPECT_EQ(overdue.code(), ErrorCode::deadline);
  EXPECT_EQ(queued.code(), ErrorCode::deadline);
  EXPECT_TRUE(lane.stuck());
  lane.submit<int>(
      "c", long_time,
      [&](Call&) -> Result<int> {
        ADD_FAILURE() << "ran";
        return 3;
      },
      later.taker());
  EXPECT_EQ(later.code(), ErrorCode::deadline);
  EXPECT_EQ(lane.waiting(), 1U);
  door.open();
  ASSERT_TRUE(eventually([&] { return !lane.stuck(); }));
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { return 4; }, afterwards.taker());
  auto result = afterwards.get();
  ASSERT_TRUE(result && result->ok());
  EXPECT_EQ(**result, 4);
}

TEST(Lane, ACallThatWaitsTooLongIsNotRun) {
  LaneOptions chosen = options();
  chosen.queue_deadline = Millis{20};
  Door door;
  Answer running;
  Answer waiting;
  Lane lane(chosen);
  lane.submit<int>(
      "c", long_time,
      [&](Call&) -> Result<int> {
        door.pass();
        return 1;
      },
      running.taker());
  lane.submit<int>(
      "c", long_time,
      [&](Call&) -> Result<int> {
        ADD_FAILURE() << "ran";
        return 2;
      },
      waiting.taker());
  EXPECT_EQ(waiting.code(), ErrorCode::deadline);
  EXPECT_FALSE(lane.stuck());
  EXPECT_FALSE(running.ready());
  door.open();
  EXPECT_TRUE(running.get()->ok());
}

TEST(Lane, TheQueueIsBounded) {
  LaneOptions chosen = options();
  chosen.queue_limit = 2;
  Door door;
  Door started;
  Answer running;
  std::vector<Answer> waiting(2);
  Answer refused;
  Lane lane(chosen);
  lane.submit<int>(
      "c", long_time,
      [&](Call&) -> Result<int> {
        started.open();
        door.pass();
        return 1;
      },
      running.taker());
  started.pass();
  for (Answer& one : waiting)
    lane.submit<int>(
        "c", long_time, [](Call&) -> Result<int> { return 2; }, one.taker());
  EXPECT_EQ(lane.waiting(), 3U);
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { return 3; }, refused.taker());
  EXPECT_EQ(refused.code(), ErrorCode::busy);
  door.open();
  for (Answer& one : waiting)
    EXPECT_TRUE(one.get()->ok());
}

TEST(Lane, CancelAllAnswersQueuedAndAsksRunningCalls) {
  Lane lane(options());
  Door started;
  Answer running;
  Answer queued;
  Answer afterwards;
  lane.submit<int>(
      "c", long_time,
      [&](Call& call) -> Result<int> {
        std::promise<void> cancelled;
        const auto registration = call.on_cancel([&] { cancelled.set_value(); });
        started.open();
        cancelled.get_future().wait();
        call.off_cancel(registration);
        return 1;
      },
      running.taker());
  started.pass();
  lane.submit<int>(
      "c", long_time,
      [](Call&) -> Result<int> {
        ADD_FAILURE() << "ran";
        return 2;
      },
      queued.taker());
  lane.cancel_all();
  EXPECT_EQ(queued.code(), ErrorCode::cancelled);
  EXPECT_TRUE(running.get()->ok());
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { return 3; }, afterwards.taker());
  EXPECT_TRUE(afterwards.get()->ok());
}

TEST(Lane, AClosedLaneAnswersCancelled) {
  Lane lane(options());
  lane.close();
  Answer answer;
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { return 1; }, answer.taker());
  EXPECT_EQ(answer.code(), ErrorCode::cancelled);
}

TEST(Lane, ABrokenCallIsADefectAndTheLaneGoesOn) {
  Lane lane(options());
  Answer broken;
  Answer next;
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { throw std::runtime_error("odd"); }, broken.taker());
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { return 1; }, next.taker());
  EXPECT_EQ(broken.code(), ErrorCode::internal);
  EXPECT_TRUE(next.get()->ok());
}

TEST(Lane, ItsEndAnswersEverybody) {
  Answer running;
  Answer queued;
  {
    Lane lane(options());
    Door started;
    lane.submit<int>(
        "c", long_time,
        [&](Call& call) -> Result<int> {
          started.open();
          while (!call.cancelled())
            std::this_thread::yield();
          return 1;
        },
        running.taker());
    started.pass();
    lane.submit<int>(
        "c", long_time, [](Call&) -> Result<int> { return 2; }, queued.taker());
  }
  ASSERT_TRUE(running.ready());
  EXPECT_TRUE(running.get()->ok());
  ASSERT_TRUE(queued.ready());
  EXPECT_EQ(queued.code(), ErrorCode::cancelled);
}

TEST(Lane, ItsEndLeavesAStuckCallBehind) {
  auto door = std::make_shared<Door>();
  auto returned = std::make_shared<Door>();
  Answer stuck;
  {
    Lane lane(options(Millis{20}));
    auto started = std::make_shared<Door>();
    lane.submit<int>(
        "c", long_time,
        [door, returned, started](Call&) -> Result<int> {
          started->open();
          door->pass();
          returned->open();
          return 1;
        },
        stuck.taker());
    started->pass();
  }
  ASSERT_TRUE(stuck.ready());
  EXPECT_EQ(stuck.code(), ErrorCode::deadline);
  door->open();
  returned->pass();  // its answer finds the shared state, and is dropped
}

TEST(Lane, ItsFinishTellsWhetherEveryCallCameBack) {
  Lane quiet(options());
  EXPECT_TRUE(quiet.finish());
  EXPECT_TRUE(quiet.finish()) << "asked again";

  auto door = std::make_shared<Door>();
  auto started = std::make_shared<Door>();
  auto returned = std::make_shared<Door>();
  Answer stuck;
  Lane lane(options(Millis{20}));
  lane.submit<int>(
      "c", long_time,
      [door, started, returned](Call&) -> Result<int> {
        started->open();
        door->pass();
        returned->open();
        return 1;
      },
      stuck.taker());
  started->pass();
  EXPECT_FALSE(lane.finish());
  EXPECT_FALSE(lane.finish());
  door->open();
  returned->pass();
}

TEST(Lane, ItsFinishWaitsForACancelHookThatOutlastsItsCall) {
  Door running;
  Door returned;
  std::atomic<bool> hook_ended{false};
  Lane lane(options(long_time));
  Answer answer;
  lane.submit<int>(
      "c", long_time,
      [&](Call& call) -> Result<int> {
        const auto cancelled = std::make_shared<std::promise<void>>();
        call.on_cancel([&, cancelled] {
          cancelled->set_value();
          returned.pass();
          hook_ended = true;
        });
        running.open();
        cancelled->get_future().wait();
        return 1;
      },
      answer.taker());
  running.pass();
  lane.close();
  EXPECT_TRUE(answer.get()->ok());
  EXPECT_FALSE(hook_ended);
  std::thread opener([&] { returned.open(); });
  EXPECT_TRUE(lane.finish());
  EXPECT_TRUE(hook_ended);
  opener.join();
}

TEST(Lane, ItsFinishLeavesBehindACancelHookThatDoesNotEnd) {
  const auto door = std::make_shared<Door>();
  const auto passed = std::make_shared<Door>();
  Door running;
  Lane lane(options(Millis{20}));
  Answer answer;
  lane.submit<int>(
      "c", long_time,
      [&](Call& call) -> Result<int> {
        const auto cancelled = std::make_shared<std::promise<void>>();
        call.on_cancel([cancelled, door, passed] {
          cancelled->set_value();
          door->pass();
          passed->open();
        });
        running.open();
        cancelled->get_future().wait();
        return 1;
      },
      answer.taker());
  running.pass();
  EXPECT_FALSE(lane.finish());
  EXPECT_TRUE(answer.get()->ok());
  door->open();
  passed->pass();
}

TEST(Lane, WhatAGivenUpCallReturnsIsDestroyed) {
  using Secret = std::shared_ptr<int>;
  auto door = std::make_shared<Door>();
  std::promise<std::weak_ptr<int>> promise;
  std::promise<ErrorCode> answered;
  {
    Lane lane(options(Millis{20}));
    lane.submit<Secret>(
        "c", Millis{0},
        [door, &promise](Call&) -> Result<Secret> {
          door->pass();
          auto secret = std::make_shared<int>(1);
          promise.set_value(secret);
          return secret;
        },
        [&answered](Result<Secret> result) { answered.set_value(result.error().code); });
    EXPECT_EQ(answered.get_future().get(), ErrorCode::deadline);
    door->open();
    const std::weak_ptr<int> secret = promise.get_future().get();
    EXPECT_TRUE(eventually([&] { return secret.expired(); }));
  }
}

TEST(Lane, ABlockingCancelHookHoldsUpNobody) {
  Door hook;
  Answer hanging;
  Answer second;
  Lane lane(options(Millis{20}));
  lane.submit<int>(
      "c", Millis{10},
      [&](Call& call) -> Result<int> {
        const auto registration = call.on_cancel([&] { hook.pass(); });
        while (!call.cancelled())
          std::this_thread::yield();
        call.off_cancel(registration);
        return 1;
      },
      hanging.taker());
  EXPECT_EQ(hanging.code(), ErrorCode::deadline);
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { return 2; }, second.taker());
  EXPECT_EQ(second.code(), ErrorCode::deadline);
  hook.open();
  EXPECT_TRUE(eventually([&] { return !lane.stuck(); }));
}

}  // namespace
