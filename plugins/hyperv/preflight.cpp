#include "hyperv/preflight.hpp"

#include <array>
#include <charconv>

#include "crash_point.hpp"
#include "hyperv/sandbox.hpp"

namespace hyperv {
namespace {

using plugins::engine::ContainerStatus;
using plugins::engine::Sandboxes;
using rmgr::Error;
using rmgr::Millis;
using rmgr::Status;

constexpr Millis patience{300'000};  // a virtual machine's start and a program's

// As Windows writes its own: what a program does not end with itself is one of them.
std::string code_text(std::int64_t code) {
  if (code >= 0 && code <= 255) return std::to_string(code);
  std::array<char, 16> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(),
                                     static_cast<std::uint32_t>(code & 0xFFFFFFFF), 16);
  return "0x" + std::string(digits.data(), written.ptr);
}

void run_trial(const rmgr::Call& call, const Sandboxes& sandboxes, const std::string& id) {
  auto& client = sandboxes.client();
  client.start_container(call, id);
  RMGR_CRASH_POINT("hyperv.preflight.started");
  if (!client.wait_container(call, id, patience))
    throw Error(Status::retry, "The runner's program did not end in time when it was tried in the image.");
  const auto ended = client.inspect_container(call, id);
  if (!ended || ended->status != ContainerStatus::exited)
    throw Error(Status::retry, "The container in which the runner was tried is gone or did not run.");
  if (ended->exit_code != 0) {
    throw Error(Status::invalid, "The runner's program does not start in the image (exit code " +
                                     code_text(ended->exit_code) +
                                     "); use an image that has what the runner needs, as Windows Server Core "
                                     "has.");
  }
}

}  // namespace

void preflight(const rmgr::Call& call, const Sandboxes& sandboxes, const Settings& settings,
               const rmgr::Allocation& allocation, const std::function<void(const std::string& id)>& fill) {
  std::optional<std::string> id;
  try {
    id = sandboxes.create(call, allocation, trial_of(settings, allocation));
    RMGR_CRASH_POINT("hyperv.preflight.created");
    fill(*id);
    run_trial(call, sandboxes, *id);
  } catch (...) {
    sandboxes.discard(call, allocation, id);
    throw;
  }
  sandboxes.client().remove_container(call, *id);
  RMGR_CRASH_POINT("hyperv.preflight.removed");
}

void remove_trial(const rmgr::Call& call, const Sandboxes& sandboxes, const rmgr::Allocation& allocation) {
  const auto left = sandboxes.find(call, allocation);
  if (!left || !is_trial(left->labels)) return;
  if (left->status == ContainerStatus::running) sandboxes.end(call, left->id, Millis{0});
  sandboxes.client().remove_container(call, left->id);
}

}  // namespace hyperv
