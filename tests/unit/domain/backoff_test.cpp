#include "domain/backoff.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using testing::at;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct Row {
  std::int64_t tries;
  std::int64_t launch, cleanup;  // seconds
};
constexpr Row kRows[] = {{-5, 2, 30},   {0, 2, 30},      {1, 2, 30},      {2, 4, 60},    {3, 8, 120},
                         {4, 16, 240},  {5, 30, 480},    {6, 30, 900},    {40, 30, 900}, {63, 30, 900},
                         {64, 30, 900}, {1000, 30, 900}, {kMost, 30, 900}};

TEST(Backoff, DoublesUpToItsCapForEveryCount) {
  for (const Row& row : kRows) {
    EXPECT_EQ(launch_wait(row.tries, Millis{0}), Millis{row.launch * 1000}) << row.tries;
    EXPECT_EQ(cleanup_wait(row.tries), Millis{row.cleanup * 1000}) << row.tries;
    EXPECT_EQ(hold_wait(row.tries), Millis{row.cleanup * 1000}) << row.tries;
  }
}

TEST(Backoff, NeverOverflowsWithoutACap) {
  EXPECT_EQ(doubling(Millis{1}, 63, Millis{kMost}), Millis{1LL << 62});
  EXPECT_EQ(doubling(Millis{1}, 64, Millis{kMost}), Millis{kMost});
  EXPECT_EQ(doubling(Millis{1}, 1000, Millis{kMost}), Millis{kMost});
  EXPECT_EQ(doubling(Millis{kMost}, 2, Millis{kMost}), Millis{kMost});
}

TEST(Backoff, NothingToDoubleIsNoWait) {
  EXPECT_EQ(doubling(Millis{0}, 1000, kMaximumWait), Millis{0});
  EXPECT_EQ(doubling(Millis{-1}, 3, kMaximumWait), Millis{0});
  EXPECT_EQ(doubling(Millis{10}, 3, Millis{0}), Millis{0});
  EXPECT_EQ(doubling(Millis{10}, 1, Millis{4}), Millis{4});
}

TEST(Backoff, WhatTheOtherSideAsksForWinsWhenItIsLarger) {
  EXPECT_EQ(launch_wait(1, Millis{1'999}), Millis{2'000});
  EXPECT_EQ(launch_wait(1, Millis{2'001}), Millis{2'001});
  EXPECT_EQ(launch_wait(3, Millis{60'000}), Millis{60'000});
  EXPECT_EQ(launch_wait(1, Millis{-1}), Millis{2'000});
}

TEST(Backoff, NobodyIsWaitedForLongerThanFifteenMinutes) {
  EXPECT_EQ(launch_wait(1, Millis{900'001}), Millis{900'000});
  EXPECT_EQ(launch_wait(1, Millis{kMost}), Millis{900'000});
}

TEST(Backoff, EachFailureCountsOnceAndSetsWhenItIsDue) {
  const Retry first = next_retry({}, Millis{30'000}, at(5));
  EXPECT_EQ(first, (Retry{1, at(30'005)}));
  EXPECT_EQ(next_retry(first, cleanup_wait(first.tries + 1), at(100'000)), (Retry{2, at(160'000)}));
  EXPECT_EQ(next_retry({-3, {}}, Millis{0}, at(0)).tries, 1);
  EXPECT_EQ(next_retry({kMost, {}}, Millis{0}, at(0)).tries, kMost);
}

}  // namespace
}  // namespace agent::domain
