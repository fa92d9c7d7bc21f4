// What the emulator was started with; the waiting times can be changed while it runs.
#pragma once

#include <cstdint>
#include <string>

namespace emulator {

struct Settings {
  std::string url;                        // where it can be reached, without a trailing slash
  std::string runner_url;                 // the same as runners see it, usually equal
  std::string token;                      // empty: every token is good, but there must be one
  std::int64_t token_expires_at_ms = 0;   // by the server's own clock; 0: never
  std::int64_t clock_offset_ms = 0;       // how far the clock that callers see is ahead of the machine's
  std::int64_t offline_after_ms = 3'000;  // a listener unheard of for so long is offline
  std::int64_t accept_within_ms = 5'000;  // a job handed out but not started by then goes back to the queue
  std::int64_t lost_after_ms = 10'000;    // a running job whose listener is unheard of for so long has failed
  std::int64_t removal_after_ms =
      0;  // how long an ephemeral registration outlives its job; negative: for ever
  std::int64_t rate_limit = 1'000'000;  // requests an hour
  std::int64_t rate_remaining = 1'000'000;
};

}  // namespace emulator
