// When a credential may be used again.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace plugins::github {

using Millis = std::chrono::milliseconds;

constexpr Millis kLongestHold{15 * 60 * 1000};

// What keeps a credential from working; credential.hpp has the words.
enum class CredentialState { rejected, expired, unreadable, unusable, not_installed, suspended };

// Pure: time comes in. Times are those of one clock that never goes back. Not thread-safe.
class Pace {
 public:
  struct Wait {
    std::optional<CredentialState> rejected;  // nothing: a rate limit
    Millis left{0};
  };
  // What stands in the way of a request now. A credential that is not the rejected one is free at once.
  [[nodiscard]] std::optional<Wait> wait(Millis now, std::size_t fingerprint) const;

  // The server asked to wait so long. The longest wish counts, never a sum, and no more than kLongestHold.
  void limited(Millis now, Millis duration);
  // The server rejected this credential; each time in a row doubles how long it is not asked again.
  void rejected(Millis now, std::size_t fingerprint, CredentialState state = CredentialState::rejected);
  // The server took this credential.
  void accepted(std::size_t fingerprint);

 private:
  Millis held_until_{0};
  Millis quiet_until_{0};
  std::size_t rejected_ = 0;
  CredentialState state_ = CredentialState::rejected;
  int rejections_ = 0;
};

}  // namespace plugins::github
