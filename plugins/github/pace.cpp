#include "github/pace.hpp"

#include <algorithm>

namespace plugins::github {
namespace {

constexpr Millis kFirstQuiet{30'000};
constexpr int kMaxDoublings = 5;  // 30 s doubled five times is past the longest hold

}  // namespace

std::optional<Pace::Wait> Pace::wait(Millis now, std::size_t fingerprint) const {
  if (now < held_until_) return Wait{std::nullopt, held_until_ - now};
  if (rejections_ > 0 && fingerprint == rejected_ && now < quiet_until_)
    return Wait{state_, quiet_until_ - now};
  return std::nullopt;
}

void Pace::limited(Millis now, Millis duration) {
  held_until_ = std::max(held_until_, now + std::clamp(duration, Millis{0}, kLongestHold));
}

void Pace::rejected(Millis now, std::size_t fingerprint, CredentialState state) {
  if (fingerprint != rejected_) rejections_ = 0;
  state_ = state;
  rejected_ = fingerprint;
  const auto quiet = kFirstQuiet * (1 << std::min(rejections_, kMaxDoublings));
  quiet_until_ = now + std::min<Millis>(quiet, kLongestHold);
  rejections_ = std::min(rejections_ + 1, kMaxDoublings + 1);
}

void Pace::accepted(std::size_t fingerprint) {
  if (fingerprint == rejected_) rejections_ = 0;
}

}  // namespace plugins::github
