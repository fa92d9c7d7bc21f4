// Moments at which a crash test kills the daemon: before and after each durable write and each effect
// outside.
//
//   RMGR_CRASH_POINT("room.effect.moment");            a point with a name of its own
//   RMGR_CRASH_POINT_OF("room.effect.", what);         one point for each value of `what`, a text
//
// Both are nothing at all unless RMGR_CRASH_POINTS is set, which no build for use does. The environment of
// the process says what a point does: RMGR_CRASH_AT is the name of the one that kills, RMGR_CRASH_NTH at
// which of its visits (1), RMGR_CRASH_LINGER_MS how long its thread waits there first (0) while others go on,
// RMGR_CRASH_TRACE a file to which every visit is appended. A plugin reads the same
// environment, so none of this is in the SDK; a program of its own, like rmgr-shim, gets none and is never
// killed here.
#pragma once

#ifdef RMGR_CRASH_POINTS
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace crash_point {

struct Orders {
  std::string at, trace;
  long nth = 1, linger_ms = 0;
  std::atomic<long> visits{0};
};

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

inline Orders& orders() {
  static Orders read;
  [[maybe_unused]] static const bool once = [] {
    read.at = variable("RMGR_CRASH_AT");
    read.trace = variable("RMGR_CRASH_TRACE");
    const std::string nth = variable("RMGR_CRASH_NTH");
    if (!nth.empty()) read.nth = std::strtol(nth.c_str(), nullptr, 10);
    const std::string linger = variable("RMGR_CRASH_LINGER_MS");
    if (!linger.empty()) read.linger_ms = std::strtol(linger.c_str(), nullptr, 10);
    return true;
  }();
  return read;
}

inline void reach(std::string_view name) {
  Orders& told = orders();
  if (!told.trace.empty()) {
    const int file = ::open(told.trace.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file >= 0) {
      const std::string line = std::string(name) + "\n";
      if (::write(file, line.data(), line.size()) < 0) std::abort();
      ::close(file);
    }
  }
  if (name != told.at || told.visits.fetch_add(1) + 1 != told.nth) return;
  if (told.linger_ms > 0) ::usleep(static_cast<useconds_t>(told.linger_ms) * 1000U);
  ::kill(::getpid(), SIGKILL);
  for (;;)
    ::pause();
}

}  // namespace crash_point

#define RMGR_CRASH_POINT(name) ::crash_point::reach(name)
#define RMGR_CRASH_POINT_OF(prefix, what) ::crash_point::reach(std::string(prefix).append(what))
#else
#define RMGR_CRASH_POINT(name) static_cast<void>(0)
#define RMGR_CRASH_POINT_OF(prefix, what) static_cast<void>(0)
#endif
