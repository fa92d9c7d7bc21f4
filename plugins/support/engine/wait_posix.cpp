#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "rmgr/error.hpp"
#include "support/engine/wait.hpp"

namespace plugins::engine {

Waitable make_bell() {
  const int bell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell < 0)
    throw rmgr::Error(rmgr::Status::retry, "No descriptor is free to wait with; raise the limit of files.");
  // Waitable is a pointer on Windows alone, where this file is not built.
  return bell;  // cppcheck-suppress CastIntegerToAddressAtReturn
}

void ring(Waitable bell) noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell, &one, sizeof one);
}

void drop_bell(Waitable bell) noexcept { ::close(bell); }

bool wait_for(Waitable what, short events, Waitable bell, std::chrono::milliseconds time) {
  std::array<pollfd, 2> watched{pollfd{what, events, 0}, pollfd{bell, POLLIN, 0}};
  const int count = ::poll(watched.data(), watched.size(), static_cast<int>(time.count()) + 1);
  if (count < 0 && errno != EINTR)
    throw rmgr::Error(rmgr::Status::internal, "Waiting for the container engine failed.");
  return count > 0 && watched[0].revents != 0;
}

}  // namespace plugins::engine
