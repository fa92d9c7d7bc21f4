// The context of one call into a plugin: who asks, how long it may take, and whether it is still wanted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "domain/time.hpp"

namespace agent::plugin {

// Thread-safe. Outlives the call it belongs to. The C view of it is made inside the facades.
class Call {
 public:
  Call(std::string correlation, std::chrono::steady_clock::time_point deadline);
  [[nodiscard]] const std::string& correlation() const { return correlation_; }
  [[nodiscard]] bool cancelled() const { return cancelled_.load(); }
  [[nodiscard]] domain::Millis remaining() const;  // at least 0
  void cancel();                                   // runs the registered functions once
  std::uint64_t on_cancel(
      std::function<void()> fn);                // 0: the table is full. Runs fn here if already cancelled
  void off_cancel(std::uint64_t registration);  // waits for a running fn, unless fn itself asks

 private:
  std::string correlation_;
  std::chrono::steady_clock::time_point deadline_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::map<std::uint64_t, std::function<void()>> callbacks_;
  std::uint64_t next_ = 1;
  std::uint64_t running_ = 0;  // the registration that cancel runs now
  std::thread::id runner_;
  std::condition_variable idle_;
};

}  // namespace agent::plugin
