#include "unit/plugin/lane_fixture.hpp"

#include <stdexcept>
#include <vector>

namespace {

using namespace fixture;

TEST(Lane, RunsCallsInOrderOnItsThread) {
  Lane lane(lane_options());
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
  LaneOptions chosen = lane_options();
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
  Lane lane(lane_options());
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
  Lane lane(lane_options());
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
  Lane lane(lane_options(Millis{20}));
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
  LaneOptions chosen = lane_options();
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
  LaneOptions chosen = lane_options();
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
  Lane lane(lane_options());
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
  Lane lane(lane_options());
  lane.close();
  Answer answer;
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { return 1; }, answer.taker());
  EXPECT_EQ(answer.code(), ErrorCode::cancelled);
}

TEST(Lane, ABrokenCallIsADefectAndTheLaneGoesOn) {
  Lane lane(lane_options());
  Answer broken;
  Answer next;
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { throw std::runtime_error("odd"); }, broken.taker());
  lane.submit<int>(
      "c", long_time, [](Call&) -> Result<int> { return 1; }, next.taker());
  EXPECT_EQ(broken.code(), ErrorCode::internal);
  EXPECT_TRUE(next.get()->ok());
}

TEST(Lane, WhatAGivenUpCallReturnsIsDestroyed) {
  using Secret = std::shared_ptr<int>;
  auto door = std::make_shared<Door>();
  std::promise<std::weak_ptr<int>> promise;
  std::promise<ErrorCode> answered;
  {
    Lane lane(lane_options(Millis{20}));
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
  Lane lane(lane_options(Millis{20}));
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
