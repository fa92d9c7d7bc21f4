// The host's end of one call into a plugin: the context, the explanation and the sinks that travel with it.
//
// A plugin may break the rules and use them after its function returned. So they live on the heap, are closed
// when the call ends (later writes are dropped, later questions answered "cancelled"), and stay allocated for
// a long while.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "domain/result.hpp"
#include "plugin/call.hpp"
#include "plugin/crash_note.hpp"
#include "plugin/text.hpp"
#include "rmgr/abi/base.h"

namespace agent::plugin {

inline constexpr std::size_t most_items = 10'000;           // of one call
inline constexpr std::size_t most_call_bytes = 16U << 20U;  // of all texts of one call

[[nodiscard]] rmgr_status to_status(domain::ErrorCode code);
[[nodiscard]] inline rmgr_str to_abi(std::string_view text) { return {text.data(), text.size()}; }

class Gate {
 public:
  // `subject` names the instance in messages.
  Gate(Call& call, std::string subject);
  virtual ~Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  [[nodiscard]] const rmgr_call* call() const { return &abi_call_; }
  [[nodiscard]] const rmgr_error* error() const { return &abi_error_; }

  // Whose call it is, for crash notes: what the plugin wants to have called at cancel runs in its name.
  void belongs_to(const std::string& digest) { digest_ = digest; }

  // Ends the call: waits for writes in progress, and answers what the plugin's status means. A broken rule
  // outweighs the status, and so does the reason for which the host itself refused an item.
  [[nodiscard]] domain::Result<void> close(rmgr_status status);

  // The call behind a context that a plugin handed back, for `use`, which must not keep it. False if the
  // context is not one of ours or its call ended.
  static bool with_call(const rmgr_call* context, const std::function<void(Call&)>& use);

  // For the trampolines of sinks: runs `take` (answering a status) one at a time and only while the call is
  // open.
  template <class Take>
  static rmgr_status enter(void* ctx, Take&& take) noexcept {
    auto* gate = static_cast<Gate*>(ctx);
    const Pass pass(*gate);
    if (pass.call() == nullptr) return RMGR_E_CANCELLED;
    try {
      const std::lock_guard data(gate->data_);
      return take(*gate);
    } catch (const std::bad_alloc&) {
      return RMGR_E_RETRY;
    } catch (...) {
      return RMGR_E_INTERNAL;
    }
  }

  // --- only inside `take` of enter
  // Remembers a broken rule; answers what the sink should.
  rmgr_status violation(const std::string& what);
  // Remembers why the host wants no more.
  rmgr_status refuse(domain::Error error);
  // Counts an item against the bounds.
  rmgr_status count_item();
  // Checks and copies a text of an item.
  rmgr_status text(rmgr_str in, std::string& out, std::size_t most = most_text_bytes);

 protected:
  // Called at close, when nothing writes any more: lets go of what belongs to the caller.
  virtual void release() {}
  [[nodiscard]] void* context() { return this; }

 private:
  // Holds up close() while somebody uses the call.
  class Pass {
   public:
    explicit Pass(Gate& gate);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    [[nodiscard]] Call* call() const { return call_; }  // null once closed

   private:
    Gate& gate_;
    Call* call_;
  };

  static std::int32_t RMGR_CALL requested(void* ctx) noexcept;
  static std::int64_t RMGR_CALL remaining_ms(void* ctx) noexcept;
  static std::uint64_t RMGR_CALL on_cancel(void* ctx, void(RMGR_CALL* fn)(void*), void* arg) noexcept;
  static void RMGR_CALL off_cancel(void* ctx, std::uint64_t registration) noexcept;
  static void RMGR_CALL set_error(void* ctx, rmgr_str message, std::int64_t retry_after_ms) noexcept;

  std::mutex door_;  // the next three
  std::condition_variable left_;
  std::size_t inside_ = 0;
  Call* call_;       // null once closed
  std::mutex data_;  // everything below
  std::string subject_;
  std::string correlation_;
  std::string digest_;  // set before the plugin sees the gate
  std::string message_;
  std::chrono::milliseconds retry_after_{0};
  bool explained_ = false;
  std::string violation_;
  domain::Error refusal_;
  bool refused_ = false;
  std::size_t items_ = 0;
  std::size_t bytes_ = 0;
  rmgr_call abi_call_;
  rmgr_error abi_error_;
};

// A gate with a sink of structs.
template <class Sink, class Item>
class ItemGate final : public Gate {
 public:
  using Take = std::function<rmgr_status(Gate&, const Item&)>;
  ItemGate(Call& call, std::string subject, Take take)
      : Gate(call, std::move(subject)),
        take_(std::move(take)),
        sink_{sizeof(Sink), 0, context(), &ItemGate::write} {}
  [[nodiscard]] const Sink* sink() const { return &sink_; }

 private:
  static rmgr_status RMGR_CALL write(void* ctx, const Item* item) noexcept {
    return enter(ctx, [&](Gate& gate) -> rmgr_status {
      if (item == nullptr || item->struct_size < sizeof(Item))
        return gate.violation("an item without its size");
      const rmgr_status counted = gate.count_item();
      if (counted != RMGR_OK) return counted;
      return as_host([&] { return static_cast<ItemGate&>(gate).take_(gate, *item); });
    });
  }
  void release() override { take_ = nullptr; }
  Take take_;
  Sink sink_;
};

// A gate with a sink of texts.
class TextGate final : public Gate {
 public:
  using Take = std::function<rmgr_status(Gate&, std::string)>;
  TextGate(Call& call, std::string subject, Take take);
  [[nodiscard]] const rmgr_text_sink* sink() const { return &sink_; }

 private:
  static rmgr_status RMGR_CALL write(void* ctx, rmgr_str item) noexcept;
  void release() override { take_ = nullptr; }
  Take take_;
  rmgr_text_sink sink_;
};

}  // namespace agent::plugin
