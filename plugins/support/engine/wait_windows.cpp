#include <windows.h>

#include <array>

#include "rmgr/error.hpp"
#include "support/engine/wait.hpp"

namespace plugins::engine {

Waitable make_bell() {
  const HANDLE bell = ::CreateEventW(nullptr, TRUE, FALSE, nullptr);
  if (bell == nullptr) throw rmgr::Error(rmgr::Status::retry, "No event is free to wait with.");
  return bell;
}

void ring(Waitable bell) noexcept { ::SetEvent(bell); }

void drop_bell(Waitable bell) noexcept { ::CloseHandle(bell); }

bool wait_for(Waitable what, short /*events*/, Waitable bell, std::chrono::milliseconds time) {
  const std::array<HANDLE, 2> watched{what, bell};
  const DWORD answer = ::WaitForMultipleObjects(static_cast<DWORD>(watched.size()), watched.data(), FALSE,
                                                static_cast<DWORD>(time.count()) + 1);
  if (answer == WAIT_FAILED)
    throw rmgr::Error(rmgr::Status::internal, "Waiting for the container engine failed.");
  return answer == WAIT_OBJECT_0;
}

}  // namespace plugins::engine
