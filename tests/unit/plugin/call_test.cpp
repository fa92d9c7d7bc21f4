#include "plugin/call.hpp"

#include <gtest/gtest.h>

#include <future>

namespace {

using agent::domain::Millis;
using agent::plugin::Call;
using Clock = std::chrono::steady_clock;

TEST(Call, KnowsHowLongIsLeft) {
  EXPECT_EQ(Call("a", Clock::now() - std::chrono::hours(1)).remaining(), Millis{0});
  const Millis left = Call("a", Clock::now() + std::chrono::hours(1)).remaining();
  EXPECT_GT(left, std::chrono::minutes(59));
  EXPECT_LE(left, std::chrono::hours(1));
}

TEST(Call, RunsEachHookOnceAtCancel) {
  Call call("a", Clock::now());
  int first = 0;
  int second = 0;
  int removed = 0;
  EXPECT_GT(call.on_cancel([&] { ++first; }), 0U);
  const auto gone = call.on_cancel([&] { ++removed; });
  EXPECT_GT(call.on_cancel([&] { ++second; }), 0U);
  call.off_cancel(gone);
  EXPECT_FALSE(call.cancelled());
  call.cancel();
  call.cancel();
  EXPECT_TRUE(call.cancelled());
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(removed, 0);
}

TEST(Call, RunsALateHookAtOnce) {
  Call call("a", Clock::now());
  call.cancel();
  int runs = 0;
  EXPECT_GT(call.on_cancel([&] { ++runs; }), 0U);
  EXPECT_EQ(runs, 1);
}

TEST(Call, RefusesMoreHooksThanItKeeps) {
  Call call("a", Clock::now());
  for (int i = 0; i < 64; ++i)
    EXPECT_GT(call.on_cancel([] {}), 0U);
  EXPECT_EQ(call.on_cancel([] {}), 0U);
}

TEST(Call, RemovingWaitsForARunningHook) {
  Call call("a", Clock::now());
  std::promise<void> entered;
  std::promise<void> leave;
  bool left = false;
  const auto registration = call.on_cancel([&] {
    entered.set_value();
    leave.get_future().wait();
    left = true;
  });
  std::thread canceller([&] { call.cancel(); });
  entered.get_future().wait();
  std::thread opener([&] { leave.set_value(); });
  call.off_cancel(registration);
  EXPECT_TRUE(left);
  opener.join();
  canceller.join();
}

TEST(Call, AHookMayRemoveItself) {
  Call call("a", Clock::now());
  std::uint64_t registration = 0;
  int runs = 0;
  registration = call.on_cancel([&] {
    call.off_cancel(registration);
    ++runs;
  });
  call.cancel();
  EXPECT_EQ(runs, 1);
}

}  // namespace
