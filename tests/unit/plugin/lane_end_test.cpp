// How a lane ends, and what it leaves behind.
#include "unit/plugin/lane_fixture.hpp"

namespace {

using namespace fixture;

TEST(Lane, ItsEndAnswersEverybody) {
  Answer running;
  Answer queued;
  {
    Lane lane(lane_options());
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
    Lane lane(lane_options(Millis{20}));
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
  Lane quiet(lane_options());
  EXPECT_TRUE(quiet.finish());
  EXPECT_TRUE(quiet.finish()) << "asked again";

  auto door = std::make_shared<Door>();
  auto started = std::make_shared<Door>();
  auto returned = std::make_shared<Door>();
  Answer stuck;
  Lane lane(lane_options(Millis{20}));
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

// A call that returns once its hook was told of the cancellation, whatever the hook does then.
void submit_with_hook(Lane& lane, Answer& answer, std::function<void()> then) {
  const auto running = std::make_shared<Door>();
  lane.submit<int>(
      "c", long_time,
      [running, then = std::move(then)](Call& call) -> Result<int> {
        const auto cancelled = std::make_shared<std::promise<void>>();
        call.on_cancel([cancelled, then] {
          cancelled->set_value();
          then();
        });
        running->open();
        cancelled->get_future().wait();
        return 1;
      },
      answer.taker());
  running->pass();
}

TEST(Lane, ItsFinishWaitsForACancelHookThatOutlastsItsCall) {
  Door returned;
  std::atomic<bool> hook_ended{false};
  Lane lane(lane_options());
  Answer answer;
  submit_with_hook(lane, answer, [&] {
    returned.pass();
    hook_ended = true;
  });
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
  Lane lane(lane_options(Millis{20}));
  Answer answer;
  submit_with_hook(lane, answer, [door, passed] {
    door->pass();
    passed->open();
  });
  // The call itself comes back, however long that takes: only the hook is left to wait for.
  lane.close();
  EXPECT_TRUE(answer.get()->ok());
  EXPECT_FALSE(lane.finish());
  door->open();
  passed->pass();
}

}  // namespace
