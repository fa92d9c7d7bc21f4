// How long to wait before trying again.
#pragma once

#include "domain/attempt.hpp"

namespace agent::domain {

inline constexpr Millis kMaximumWait{15 * 60 * 1000};

// Doubling from `initial`, at most `cap`. `tries` counts failures so far, from 1. Never overflows.
Millis doubling(Millis initial, std::int64_t tries, Millis cap);

// Launch steps: 3 tries, 2 s then doubling to 30 s; the larger of that and what the other side asked for, at
// most 15 min.
inline constexpr std::int64_t kLaunchTries = 3;
Millis launch_wait(std::int64_t tries, Millis asked);

// Tolerated clean-up failures: 30 s, 60 s, … at most 15 min. A provider that knows when it will be done says
// so and is asked again then, but not sooner than after a second.
Millis cleanup_wait(std::int64_t tries);
inline constexpr Millis kMinimumCleanupWait{1'000};

// A policy held after a terminal refusal: 30 s doubling to 15 min.
Millis hold_wait(std::int64_t refusals);

// Counts one more failure and sets when it is due.
Retry next_retry(const Retry& before, Millis wait, const Instant& now);

}  // namespace agent::domain
