#include "plugin/call.hpp"

#include <algorithm>
#include <utility>

namespace agent::plugin {
namespace {

constexpr std::size_t most_callbacks = 64;

}  // namespace

Call::Call(std::string correlation, std::chrono::steady_clock::time_point deadline)
    : correlation_(std::move(correlation)), deadline_(deadline) {}

domain::Millis Call::remaining() const {
  const auto left = std::chrono::duration_cast<domain::Millis>(deadline_ - std::chrono::steady_clock::now());
  return std::max(left, domain::Millis{0});
}

void Call::cancel() {
  std::unique_lock lock(mutex_);
  if (cancelled_.exchange(true)) return;
  runner_ = std::this_thread::get_id();
  while (!callbacks_.empty()) {
    auto node = callbacks_.extract(callbacks_.begin());
    running_ = node.key();
    lock.unlock();
    node.mapped()();
    lock.lock();
    running_ = 0;
    idle_.notify_all();
  }
  runner_ = {};
}

std::uint64_t Call::on_cancel(std::function<void()> fn) {
  std::uint64_t registration = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!cancelled_) {
      if (callbacks_.size() >= most_callbacks) return 0;
      registration = next_++;
      callbacks_.emplace(registration, std::move(fn));
      return registration;
    }
    registration = next_++;
  }
  fn();
  return registration;
}

void Call::off_cancel(std::uint64_t registration) {
  std::unique_lock lock(mutex_);
  callbacks_.erase(registration);
  if (runner_ == std::this_thread::get_id()) return;
  idle_.wait(lock, [&] { return running_ != registration; });
}

}  // namespace agent::plugin
