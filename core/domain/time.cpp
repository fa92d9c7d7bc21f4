#include "domain/time.hpp"

#include <limits>

namespace agent::domain {
namespace {

// Instants come from files and from other machines' clocks too, so no difference or sum may overflow.
std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

std::int64_t distance(std::int64_t from, std::int64_t to) {
  if (to <= from) return 0;
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(to, from, &difference)) return difference;
  return std::numeric_limits<std::int64_t>::max();
}

// An empty boot id says that the boot is not known, and two unknown boots are not one boot.
bool one_boot(const Instant& a, const Instant& b) { return !a.boot_id.empty() && a.boot_id == b.boot_id; }

}  // namespace

Millis elapsed(const Instant& earlier, const Instant& later) {
  if (one_boot(earlier, later)) return Millis{distance(earlier.boot_ms, later.boot_ms)};
  return Millis{distance(earlier.wall_ms, later.wall_ms)};
}

Instant after(const Instant& base, Millis by) {
  return {saturating_sum(base.wall_ms, by.count()), saturating_sum(base.boot_ms, by.count()), base.boot_id};
}

Instant rebased(const Instant& then, const Instant& now) {
  return one_boot(then, now) ? then : after(now, -elapsed(then, now));
}

bool reached(const Instant& due, const Instant& now) {
  return one_boot(due, now) ? now.boot_ms >= due.boot_ms : now.wall_ms >= due.wall_ms;
}

}  // namespace agent::domain
