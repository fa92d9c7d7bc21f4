// How long a blocking step may wait: until its descriptor is ready, the call is cancelled, or its time is
// over.
#pragma once

#include <chrono>
#include <optional>

#include "rmgr/call.hpp"
#include "support/engine/wait.hpp"

namespace plugins::engine {

// Belongs to one call and one thread; the call outlives it.
class Waiter {
 public:
  // `limit`: a deadline of this step's own, if the call has more time left.
  explicit Waiter(const rmgr::Call& call, std::optional<std::chrono::milliseconds> limit = std::nullopt);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // Until it is ready; `events` as of wait_for. Throws `cancelled` or `deadline`.
  void ready(Waitable what, short events = 0) const;
  // That long, which is short: a cancel does not end it.
  void pause(std::chrono::milliseconds time) const;
  [[nodiscard]] const rmgr::Call& call() const { return call_; }

 private:
  [[nodiscard]] std::chrono::milliseconds left() const;
  [[nodiscard]] std::chrono::milliseconds nap() const;

  rmgr::Call call_;
  std::optional<std::chrono::steady_clock::time_point> end_;
  Waitable bell_;
  std::optional<rmgr::CancelHook> hook_;
};

}  // namespace plugins::engine
