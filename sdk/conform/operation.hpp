// One call into the plugin: its context, its sinks, its error, and what it answered.
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

#include "conform/shape.hpp"
#include "rmgr/abi/entry.h"

namespace rmgr::conform {

using Millis = std::chrono::milliseconds;

struct Within {
  Millis deadline{20'000};
  bool cancelled = false;  // before the call begins
};

struct Answer {
  std::string operation;
  rmgr_status status = RMGR_OK;
  std::string message;
  bool explained = false;
  [[nodiscard]] bool ok() const { return status == RMGR_OK; }
  // For reasons of tests: "stop answered 6 (message)".
  [[nodiscard]] std::string text() const;
};

[[nodiscard]] std::string status_name(rmgr_status status);

// The host's side of a call. Stays in memory until the process ends, since a plugin may use it too late.
class CallState {
 public:
  CallState(std::string name, const Within& within);
  CallState(const CallState&) = delete;
  CallState& operator=(const CallState&) = delete;

  void cancel();
  void refuse_from(int item) { refuse_from_ = item; }

  [[nodiscard]] const rmgr_call* call() const { return call_; }
  [[nodiscard]] const rmgr_error* error() const { return error_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int items() const { return items_; }
  // What a sink answers for its next item.
  rmgr_status accept();
  // Whether a text of the plugin is one; remembers it.
  void text(rmgr_str value, std::string& out);
  Answer close(rmgr_status status);

 private:
  static std::int32_t RMGR_CALL requested(void* ctx) noexcept;
  static std::int64_t RMGR_CALL remaining_ms(void* ctx) noexcept;
  static std::uint64_t RMGR_CALL on_cancel(void* ctx, void(RMGR_CALL* fn)(void*), void* arg) noexcept;
  static void RMGR_CALL off_cancel(void* ctx, std::uint64_t registration) noexcept;
  static void RMGR_CALL explain(void* ctx, rmgr_str message, std::int64_t retry_after_ms) noexcept;
  bool usable(const char* what) const;

  std::string name_, correlation_;
  std::thread::id owner_;
  std::chrono::steady_clock::time_point until_;
  std::atomic<bool> open_{true};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> explained_{false};
  std::atomic<int> items_{0};
  int refuse_from_ = -1;
  bool refused_ = false;
  std::string message_;

  struct Hook {
    void(RMGR_CALL* fn)(void*);
    void* arg;
    bool running = false;
    bool done = false;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Hook> hooks_;
  std::uint64_t next_ = 1;

  const rmgr_call* call_;
  const rmgr_error* error_;
};

class Operation {
 public:
  explicit Operation(const std::string& name, const Within& within = {});

  [[nodiscard]] CallState& state() { return *state_; }
  [[nodiscard]] const rmgr_call* call() const { return state_->call(); }
  [[nodiscard]] const rmgr_error* error() const { return state_->error(); }
  // A sink whose items are ABI structs.
  template <class Abi, class Item>
  const Abi* sink(std::function<void(CallState&, const Item&)> take);
  const rmgr_text_sink* text_sink(std::function<void(std::string)> take);

  // Runs `fn` (answering a status) as the one call of this operation, on this thread.
  template <class Fn>
  Answer run(Fn&& fn) {
    rmgr_status status = RMGR_E_INTERNAL;
    ++depth();
    try {
      status = fn();
    } catch (...) {
      witness().note(Breach::threw, state_->name());
    }
    --depth();
    return state_->close(status);
  }
  // How many calls run on this thread.
  static int& depth();

 private:
  std::shared_ptr<CallState> state_;
};

template <class Abi, class Item>
const Abi* Operation::sink(std::function<void(CallState&, const Item&)> take) {
  struct Sink {
    CallState* state;
    std::function<void(CallState&, const Item&)> take;
    static rmgr_status RMGR_CALL write(void* ctx, const Item* item) noexcept {
      auto* self = static_cast<Sink*>(ctx);
      const rmgr_status status = self->state->accept();
      if (status != RMGR_OK || item == nullptr) return status;
      self->take(*self->state, *item);
      return RMGR_OK;
    }
  };
  auto made = std::make_shared<Sink>(Sink{state_.get(), std::move(take)});
  witness().keep(made);
  return shaped(Abi{sizeof(Abi), 0, made.get(), &Sink::write});
}

// Runs `fn` on a thread of its own unless it is dropped before the time.
class Later {
 public:
  Later(Millis delay, std::function<void()> fn);
  ~Later();
  Later(const Later&) = delete;
  Later& operator=(const Later&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool dropped_ = false;
  std::thread thread_;
};

// What a plugin may take longer than it should before a test says so: the machine may be busy.
inline constexpr Millis slack{2'500};

}  // namespace rmgr::conform
