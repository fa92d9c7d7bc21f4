// The context of one call from the host: how long it may take, and whether it is still wanted.
#pragma once

#include <functional>
#include <utility>

#include "rmgr/error.hpp"

namespace rmgr {

// Keeps a function registered for the cancel of a call. Its destructor waits for a running function, so the
// function may use whatever outlives the hook; never destroy the hook from inside the function.
class CancelHook {
 public:
  CancelHook(const rmgr_call* call, std::function<void()> fn) : call_(call), fn_(std::move(fn)) {
    registration_ = call_->on_cancel(call_->ctx, &CancelHook::run, this);
    if (registration_ == 0)
      throw Error(Status::internal, "Too many cancel hooks are registered for one call.");
  }
  ~CancelHook() { call_->off_cancel(call_->ctx, registration_); }
  CancelHook(const CancelHook&) = delete;
  CancelHook& operator=(const CancelHook&) = delete;

 private:
  static void RMGR_CALL run(void* arg) noexcept {
    try {
      static_cast<CancelHook*>(arg)->fn_();
    } catch (
        ...) {  // NOLINT(bugprone-empty-catch) a hook has nobody to tell, and nothing may cross the boundary
    }
  }
  const rmgr_call* call_;
  std::function<void()> fn_;
  std::uint64_t registration_ = 0;
};

// Valid only while the call runs: do not keep it. All members may be used from any thread.
class Call {
 public:
  explicit Call(const rmgr_call* call) noexcept : call_(call) {}

  // A short id that ties the log lines of one call together.
  [[nodiscard]] std::string_view correlation() const noexcept { return from_abi(call_->correlation); }
  // True once the host wants the call to end; end it within a second.
  [[nodiscard]] bool requested() const noexcept { return call_->requested(call_->ctx) != 0; }
  // Until the deadline; at least 0.
  [[nodiscard]] Millis remaining() const noexcept { return Millis{call_->remaining_ms(call_->ctx)}; }
  // Throws `cancelled` or `deadline` when the call should end. Ask in every loop.
  void check() const {
    if (requested()) throw Error(Status::cancelled, "The call was cancelled.");
    if (remaining() <= Millis{0}) throw Error(Status::deadline, "The time for the call ran out.");
  }
  // `fn` runs once, on some thread, when cancel is requested; at once if it already was. Keep the hook.
  [[nodiscard]] CancelHook on_cancel(std::function<void()> fn) const { return {call_, std::move(fn)}; }

  [[nodiscard]] const rmgr_call* abi() const noexcept { return call_; }

 private:
  const rmgr_call* call_;
};

}  // namespace rmgr
