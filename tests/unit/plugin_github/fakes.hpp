// The host's side for component tests: services that a test can set, and calls that it can cancel.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rmgr/call.hpp"
#include "rmgr/host.hpp"

namespace plugin_test {

// Log, clock and secrets. The clock stands still unless it is moved.
class FakeHost {
 public:
  FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  [[nodiscard]] rmgr::Host host() const { return rmgr::Host(&host_); }
  // What the wall clock shows now, in milliseconds since 1970.
  void set_wall(std::int64_t wall) { wall_base_ = wall - now_; }
  void advance(std::chrono::milliseconds by) { now_ += by.count(); }
  void set_secret(const std::string& reference, const std::string& value);
  [[nodiscard]] int secret_reads() const { return reads_; }
  [[nodiscard]] std::vector<std::string> log() const;

 private:
  rmgr_instance_host host_{};
  rmgr_log_service log_service_{};
  rmgr_clock_service clock_{};
  rmgr_secrets_service secrets_{};
  std::atomic<std::int64_t> now_{1'000'000};
  std::atomic<std::int64_t> wall_base_{1'700'000'000'000};
  std::atomic<int> reads_{0};
  mutable std::mutex mutex_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> lines_;
};

class FakeCall {
 public:
  // `room`: how many hooks it takes.
  explicit FakeCall(std::chrono::milliseconds limit = std::chrono::seconds{60}, std::size_t room = 8);
  FakeCall(const FakeCall&) = delete;
  FakeCall& operator=(const FakeCall&) = delete;

  [[nodiscard]] const rmgr::Call& call() const { return view_; }
  void cancel();
  [[nodiscard]] std::size_t hooks() const;

 private:
  rmgr_call call_{};
  rmgr::Call view_;
  std::chrono::steady_clock::time_point deadline_;
  std::size_t room_;
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::pair<void (*)(void*), void*>> hooks_;
};

// The error that `work` throws; status ok if none.
template <class Work>
rmgr::Error error_of(Work&& work) {
  try {
    work();
  } catch (const rmgr::Error& error) {
    return error;
  }
  return {rmgr::Status::ok, ""};
}

}  // namespace plugin_test
