// The host's end of one call: context, explanation and sinks, and the rules about them.
#pragma once

#include <signal.h>  // NOLINT(modernize-deprecated-headers) sigset_t
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rmgr/abi/base.h"
#include "rmgr/testing/call.hpp"
#include "rmgr/testing/world.hpp"

namespace rmgr::testing {

// How a call ended.
struct Outcome {
  Status status = Status::ok;
  std::string message;  // what the plugin explained
  Millis retry_after{0};
  [[nodiscard]] bool ok() const { return status == Status::ok; }
};
template <class T>
struct Answer : Outcome {
  T value{};
};

namespace detail {

// What belongs to the process and not to a plugin.
struct Surroundings {
  sigset_t signals{};
  std::string directory, locale, umask;

  static Surroundings now() {
    Surroundings seen;
    ::sigemptyset(&seen.signals);
    ::pthread_sigmask(SIG_BLOCK, nullptr, &seen.signals);
    std::array<char, 4096> path{};
    if (::getcwd(path.data(), path.size()) != nullptr) seen.directory = path.data();
    if (const char* name = std::setlocale(LC_ALL, nullptr)) seen.locale = name;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("Umask:", 0) == 0) seen.umask = line;
    }
    return seen;
  }
  void compare(Record& record, std::string_view where) const {
    const Surroundings after = now();
    for (int signal = 1; signal < 65; ++signal) {
      if (::sigismember(&signals, signal) != ::sigismember(&after.signals, signal)) {
        record.violation(where, "changed the signal mask");
        break;
      }
    }
    if (after.directory != directory) record.violation(where, "changed the working directory");
    if (after.locale != locale) record.violation(where, "changed the locale");
    if (after.umask != umask) record.violation(where, "changed the umask");
  }
};

class CheckedCall : public std::enable_shared_from_this<CheckedCall> {
 public:
  CheckedCall(World& world, std::string operation, CallControl control)
      : world_(world), operation_(std::move(operation)), control_(std::move(control)) {
    control_.state()->begin(world_.clock);
    abi_call_ = {size_of<rmgr_call>(),
                 0,
                 this,
                 to_abi("test-call"),
                 &CheckedCall::requested,
                 &CheckedCall::remaining_ms,
                 &CheckedCall::on_cancel,
                 &CheckedCall::off_cancel};
    abi_error_ = {size_of<rmgr_error>(), 0, this, &CheckedCall::set_error};
  }
  virtual ~CheckedCall() = default;
  CheckedCall(const CheckedCall&) = delete;
  CheckedCall& operator=(const CheckedCall&) = delete;

  [[nodiscard]] const rmgr_call* call() const { return &abi_call_; }
  [[nodiscard]] const rmgr_error* error() const { return &abi_error_; }

  // Runs `function`, which calls the plugin and answers its status, and looks at how it went.
  Outcome run(const std::function<rmgr_status()>& function) {
    {
      const std::lock_guard lock(world_.mutex);
      world_.open_calls.insert(&abi_call_);
      world_.calls.push_back(shared_from_this());
    }
    const std::shared_ptr<CallControl::State> state = control_.state();
    const std::uint64_t watch = world_.clock.watch([state] { state->look_at_clock(); });
    const Surroundings before = Surroundings::now();
    const rmgr_status status = function();
    before.compare(world_.record, operation_);
    world_.clock.unwatch(watch);
    {
      const std::lock_guard lock(world_.mutex);
      world_.open_calls.erase(&abi_call_);
    }
    return close(status);
  }
  void violation(std::string_view what) { world_.record.violation(operation_, what); }

 protected:
  // For the functions of sinks: `take` (answering nothing) runs if the host wants the item.
  template <class Take>
  static rmgr_status item(void* ctx, Take&& take) noexcept {
    auto& self = *static_cast<CheckedCall*>(ctx);
    try {
      const std::lock_guard lock(self.mutex_);
      if (self.closed_) {
        self.violation("wrote to a sink after it had returned");
        return RMGR_E_CANCELLED;
      }
      if (self.refused_ != RMGR_OK) {
        self.violation("wrote to a sink that had refused an item");
        return self.refused_;
      }
      const CallControl::State& state = *self.control_.state();
      if (++self.items_ > 10'000) self.violation("wrote more than 10,000 items");
      if (state.most_items && self.items_ > *state.most_items)
        return self.refused_ = static_cast<rmgr_status>(state.refusal);
      take(self);
      return RMGR_OK;
    } catch (...) {
      return RMGR_E_INTERNAL;
    }
  }
  std::string text(rmgr_str in, std::size_t most = 65536) {
    return world_.record.check_text(operation_, in, most) ? std::string(from_abi(in)) : std::string();
  }
  Record& record() { return world_.record; }

 private:
  Outcome close(rmgr_status status) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    if (const std::size_t left = control_.state()->registered())
      violation("left " + std::to_string(left) + " cancel functions registered");
    if (status < RMGR_OK || status > RMGR_STATUS_LAST) {
      violation("answered the unknown status " + std::to_string(status));
      status = RMGR_E_INTERNAL;
    }
    if (refused_ != RMGR_OK && status != refused_)
      violation("did not return the status with which its sink refused");
    if (status == RMGR_OK && explained_) violation("explained a failure and returned success");
    const bool obvious =
        status == RMGR_OK || status == RMGR_E_CANCELLED || status == RMGR_E_DEADLINE || refused_ != RMGR_OK;
    if (!obvious && message_.empty()) violation("failed without a message");
    return {static_cast<Status>(status), message_, retry_after_};
  }
  // The call behind a context, if it still runs.
  static CheckedCall* open(void* ctx, std::string_view what) {
    auto& self = *static_cast<CheckedCall*>(ctx);
    const std::lock_guard lock(self.mutex_);
    if (!self.closed_) return &self;
    self.violation(std::string(what) + " after it had returned");
    return nullptr;
  }
  static std::int32_t RMGR_CALL requested(void* ctx) noexcept {
    CheckedCall* self = open(ctx, "asked for cancel");
    return self == nullptr || self->control_.state()->requested() ? 1 : 0;
  }
  static std::int64_t RMGR_CALL remaining_ms(void* ctx) noexcept {
    CheckedCall* self = open(ctx, "asked for the time");
    return self == nullptr ? 0 : self->control_.state()->remaining().count();
  }
  static std::uint64_t RMGR_CALL on_cancel(void* ctx, void(RMGR_CALL* fn)(void*), void* arg) noexcept {
    CheckedCall* self = open(ctx, "registered a cancel function");
    if (self == nullptr || fn == nullptr) return 0;
    return self->control_.state()->on_cancel([fn, arg] { fn(arg); });
  }
  static void RMGR_CALL off_cancel(void* ctx, std::uint64_t registration) noexcept {
    CheckedCall* self = open(ctx, "removed a cancel function");
    if (self != nullptr && !self->control_.state()->off_cancel(registration))
      self->violation("removed a cancel function that it never registered");
  }
  static void RMGR_CALL set_error(void* ctx, rmgr_str message, std::int64_t retry_after_ms) noexcept {
    CheckedCall* self = open(ctx, "explained a failure");
    if (self == nullptr) return;
    const std::lock_guard lock(self->mutex_);
    if (self->explained_) self->violation("explained a failure twice");
    self->explained_ = true;
    self->message_ = self->text(message, 2000);
    if (self->message_.empty()) self->violation("explained a failure with an unusable message");
    if (retry_after_ms < 0) self->violation("asked to wait for a negative time");
    self->retry_after_ = Millis{retry_after_ms};
    for (const char each : self->message_) {
      if (static_cast<unsigned char>(each) < 0x20 || each == 0x7F) {
        self->violation("put a control character into a message");
        break;
      }
    }
  }

  template <class T>
  static constexpr std::uint32_t size_of() {
    return rmgr::detail::size_of<T>();
  }

  World& world_;
  std::string operation_;
  CallControl control_;
  std::mutex mutex_;  // everything below
  bool closed_ = false;
  rmgr_status refused_ = RMGR_OK;
  std::size_t items_ = 0;
  bool explained_ = false;
  std::string message_;
  Millis retry_after_{0};
  rmgr_call abi_call_{};
  rmgr_error abi_error_{};
};

// A call with a sink of structs. `take` sees each item while the plugin's memory is still there.
template <class Sink, class Item>
class ItemCall final : public CheckedCall {
 public:
  using Take = std::function<void(ItemCall&, const Item&)>;
  ItemCall(World& world, std::string operation, CallControl control, Take take)
      : CheckedCall(world, std::move(operation), std::move(control)), take_(std::move(take)) {
    sink_ = {rmgr::detail::size_of<Sink>(), 0, static_cast<CheckedCall*>(this), &ItemCall::write};
  }
  [[nodiscard]] const Sink* sink() const { return &sink_; }
  using CheckedCall::text;

 private:
  static rmgr_status RMGR_CALL write(void* ctx, const Item* each) noexcept {
    return item(ctx, [&](CheckedCall& self) {
      if (each == nullptr || each->struct_size < sizeof(Item))
        self.violation("wrote an item without its size");
      else
        static_cast<ItemCall&>(self).take_(static_cast<ItemCall&>(self), *each);
    });
  }
  Take take_;
  Sink sink_{};
};

// A call with a sink of texts, each of 1 to 4096 bytes.
class TextCall final : public CheckedCall {
 public:
  TextCall(World& world, std::string operation, CallControl control)
      : CheckedCall(world, std::move(operation), std::move(control)) {
    sink_ = {rmgr::detail::size_of<rmgr_text_sink>(), 0, static_cast<CheckedCall*>(this), &TextCall::write};
  }
  [[nodiscard]] const rmgr_text_sink* sink() const { return &sink_; }
  [[nodiscard]] std::vector<std::string> take() { return std::move(texts_); }

 private:
  static rmgr_status RMGR_CALL write(void* ctx, rmgr_str each) noexcept {
    return item(ctx, [&](CheckedCall& self) {
      auto& call = static_cast<TextCall&>(self);
      call.texts_.push_back(call.text(each, 4096));
      if (call.texts_.back().empty()) call.violation("wrote an unusable text");
    });
  }
  std::vector<std::string> texts_;
  rmgr_text_sink sink_{};
};

}  // namespace detail
}  // namespace rmgr::testing
