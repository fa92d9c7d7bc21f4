// Virtual time: what happens next, in one deterministic order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "domain/time.hpp"

namespace simulation {

// Everything random of one history comes from here.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  bool happens(double probability) { return unit() < probability; }
  double unit() { return static_cast<double>(engine_() >> 11U) / 9007199254740992.0; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// Things to do at moments; equal moments keep the order in which they were added.
class Schedule {
 public:
  using Ticket = std::pair<std::int64_t, std::uint64_t>;

  [[nodiscard]] std::int64_t now_ms() const { return now_ms_; }
  Ticket at(std::int64_t when_ms, std::function<void()> work) {
    const Ticket ticket{when_ms < now_ms_ ? now_ms_ : when_ms, next_++};
    work_.emplace(ticket, std::move(work));
    return ticket;
  }
  Ticket after(std::int64_t delay_ms, std::function<void()> work) {
    return at(now_ms_ + delay_ms, std::move(work));
  }
  void cancel(const Ticket& ticket) { work_.erase(ticket); }
  // Does the next thing if it is due by `limit_ms`; otherwise moves time there.
  bool step(std::int64_t limit_ms) {
    if (work_.empty() || work_.begin()->first.first > limit_ms) {
      if (limit_ms > now_ms_) now_ms_ = limit_ms;
      return false;
    }
    auto node = work_.extract(work_.begin());
    now_ms_ = node.key().first;
    node.mapped()();
    return true;
  }

 private:
  std::int64_t now_ms_ = 1'000;
  std::uint64_t next_ = 0;
  std::map<Ticket, std::function<void()>> work_;
};

}  // namespace simulation
