// Points in time as servers write them, and the server's own clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "github/pace.hpp"
#include "rmgr/host.hpp"
#include "support/http/message.hpp"

namespace plugins::github {

// Seconds since 1970 of YYYY-MM-DDThh:mm:ssZ, with a space for T, UTC for Z or an offset like +0200 too.
std::optional<std::int64_t> parse_instant(std::string_view text);

// What time it is at the server: this machine's clock, corrected by the Date of the last answer. Thread-safe.
class ServerClock {
 public:
  explicit ServerClock(rmgr::Host host) : host_(host) {}
  // Says so in the log when the two clocks turn out to be more than a minute apart.
  void learn(const http::Response& response);
  [[nodiscard]] Millis now() const { return host_.clock().wall() + Millis{ahead_ms_.load()}; }

 private:
  rmgr::Host host_;
  std::atomic<std::int64_t> ahead_ms_{0};
};

}  // namespace plugins::github
