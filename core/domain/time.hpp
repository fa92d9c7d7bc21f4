// Time as the rules see it: a value that is passed in, never a clock that is read.
#pragma once

#include <chrono>
#include <cstdint>

#include "domain/ids.hpp"

namespace agent::domain {

using Millis = std::chrono::milliseconds;

// One moment. Within one boot durations use boot time, which no wall-clock jump disturbs; across boots wall
// time is all there is, clamped to zero so that a clock set back times nothing out.
struct Instant {
  std::int64_t wall_ms = 0;  // since 1970 UTC
  std::int64_t boot_ms = 0;  // since boot, suspend included
  BootId boot_id;
  bool operator==(const Instant&) const = default;
};

// How long after `earlier` is `later`; never negative.
Millis elapsed(const Instant& earlier, const Instant& later);
// `base` moved forward by `by`, in both clocks.
Instant after(const Instant& base, Millis by);
// `then` told in the boot of `now`: as long ago as it is by now, and from here on no wall clock disturbs it.
Instant rebased(const Instant& then, const Instant& now);
// True once `now` is at or past `due`.
bool reached(const Instant& due, const Instant& now);

}  // namespace agent::domain
