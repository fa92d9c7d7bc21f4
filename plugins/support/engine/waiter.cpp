#include "support/engine/waiter.hpp"

#include <algorithm>
#include <thread>

namespace plugins::engine {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// The call's own clock may be virtual, so it is asked again now and then.
constexpr milliseconds longest_nap{1'000};

}  // namespace

Waiter::Waiter(const rmgr::Call& call, std::optional<milliseconds> limit) : call_(call), bell_(make_bell()) {
  if (limit) end_ = steady_clock::now() + *limit;
  try {
    hook_.emplace(call.abi(), [bell = bell_] { ring(bell); });
  } catch (...) {
    drop_bell(bell_);
    throw;
  }
}

Waiter::~Waiter() {
  hook_.reset();
  drop_bell(bell_);
}

milliseconds Waiter::left() const {
  milliseconds left = call_.remaining();
  if (end_) {
    const auto own = std::chrono::duration_cast<milliseconds>(*end_ - steady_clock::now());
    left = std::min(left, std::max(own, milliseconds{0}));
  }
  return left;
}

// How long one wait may take.
milliseconds Waiter::nap() const {
  call_.check();
  const milliseconds time = left();
  if (time <= milliseconds{0})
    throw rmgr::Error(rmgr::Status::deadline, "The container engine did not answer in time.");
  return std::min(time, longest_nap);
}

void Waiter::ready(Waitable what, short events) const {
  while (!wait_for(what, events, bell_, nap())) {
  }
}

void Waiter::pause(milliseconds time) const { std::this_thread::sleep_for(std::min(time, nap())); }

}  // namespace plugins::engine
