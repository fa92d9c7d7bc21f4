#include "domain/backoff.hpp"

#include <algorithm>
#include <limits>

namespace agent::domain {
namespace {

constexpr Millis kLaunchInitial{2'000};
constexpr Millis kLaunchCap{30'000};
constexpr Millis kCleanupInitial{30'000};
constexpr Millis kHoldInitial{30'000};

}  // namespace

Millis doubling(Millis initial, std::int64_t tries, Millis cap) {
  if (initial <= Millis{0} || cap <= Millis{0}) return Millis{0};
  Millis wait = std::min(initial, cap);
  for (std::int64_t done = 1; done < tries && wait < cap; ++done)
    wait = wait > cap / 2 ? cap : wait * 2;
  return wait;
}

Millis launch_wait(std::int64_t tries, Millis asked) {
  return std::min(std::max(doubling(kLaunchInitial, tries, kLaunchCap), asked), kMaximumWait);
}

Millis cleanup_wait(std::int64_t tries) { return doubling(kCleanupInitial, tries, kMaximumWait); }

Millis hold_wait(std::int64_t refusals) { return doubling(kHoldInitial, refusals, kMaximumWait); }

Retry next_retry(const Retry& before, Millis wait, const Instant& now) {
  const std::int64_t tries = std::max<std::int64_t>(before.tries, 0);
  return {tries == std::numeric_limits<std::int64_t>::max() ? tries : tries + 1, after(now, wait)};
}

}  // namespace agent::domain
