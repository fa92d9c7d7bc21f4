#include "support/engine/waiter.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace plugins::engine {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// The call's own clock may be virtual, so it is asked again now and then.
constexpr milliseconds longest_nap{1'000};

}  // namespace

Waiter::Waiter(const rmgr::Call& call, std::optional<milliseconds> limit) : call_(call) {
  if (limit) end_ = steady_clock::now() + *limit;
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0)
    throw rmgr::Error(rmgr::Status::retry, "No descriptor is free to wait with; raise the limit of files.");
  try {
    hook_.emplace(call.abi(), [wake = wake_] {
      const std::uint64_t one = 1;
      [[maybe_unused]] const auto written = ::write(wake, &one, sizeof one);
    });
  } catch (...) {
    ::close(wake_);
    throw;
  }
}

Waiter::~Waiter() {
  hook_.reset();
  ::close(wake_);
}

milliseconds Waiter::left() const {
  milliseconds left = call_.remaining();
  if (end_) {
    const auto own = std::chrono::duration_cast<milliseconds>(*end_ - steady_clock::now());
    left = std::min(left, std::max(own, milliseconds{0}));
  }
  return left;
}

void Waiter::ready(int descriptor, short events) const {
  while (true) {
    call_.check();
    const milliseconds time = left();
    if (time <= milliseconds{0})
      throw rmgr::Error(rmgr::Status::deadline, "The container engine did not answer in time.");
    std::array<pollfd, 2> watched{pollfd{descriptor, events, 0}, pollfd{wake_, POLLIN, 0}};
    const int count =
        ::poll(watched.data(), watched.size(), static_cast<int>(std::min(time, longest_nap).count()) + 1);
    if (count < 0 && errno != EINTR)
      throw rmgr::Error(rmgr::Status::internal, "Waiting for the container engine failed.");
    if (count > 0 && watched[0].revents != 0) return;
  }
}

}  // namespace plugins::engine
