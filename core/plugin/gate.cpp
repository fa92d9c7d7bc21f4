#include "plugin/gate.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

constexpr std::size_t most_message = 2000;
constexpr std::int64_t most_retry_ms = std::int64_t{24} * 3600 * 1000;

struct Pair {
  rmgr_status status;
  ErrorCode code;
};
// The first row of a code is the status that it becomes.
constexpr std::array table{
    Pair{RMGR_E_INVALID, ErrorCode::invalid},
    Pair{RMGR_E_NOT_FOUND, ErrorCode::not_found},
    Pair{RMGR_E_EXISTS, ErrorCode::exists},
    Pair{RMGR_E_RETRY, ErrorCode::retry},
    Pair{RMGR_E_CANCELLED, ErrorCode::cancelled},
    Pair{RMGR_E_DEADLINE, ErrorCode::deadline},
    Pair{RMGR_E_UNSUPPORTED, ErrorCode::unsupported},
    Pair{RMGR_E_DENIED, ErrorCode::denied},
    Pair{RMGR_E_UNAUTHORIZED, ErrorCode::unauthorized},
    Pair{RMGR_E_UNREACHABLE, ErrorCode::unreachable},
    Pair{RMGR_E_BAD_RESPONSE, ErrorCode::bad_response},
    Pair{RMGR_E_BUSY, ErrorCode::busy},
    Pair{RMGR_E_INTERNAL, ErrorCode::internal},
};

std::optional<ErrorCode> to_code(rmgr_status status) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Pair& one) { return one.status == status; });
  return found == table.end() ? std::nullopt : std::optional(found->code);
}

}  // namespace

rmgr_status to_status(ErrorCode code) {
  // The boundary has no words of its own for these.
  if (code == ErrorCode::full) return RMGR_E_RETRY;
  if (code == ErrorCode::corrupt) return RMGR_E_INTERNAL;
  const auto* const found =
      std::find_if(table.begin(), table.end(), [&](const Pair& one) { return one.code == code; });
  return found == table.end() ? RMGR_E_INTERNAL : found->status;
}

Gate::Gate(Call& call, std::string subject)
    : call_(&call),
      subject_(std::move(subject)),
      correlation_(call.correlation()),
      abi_call_{sizeof(rmgr_call),
                0,
                this,
                to_abi(correlation_),
                &Gate::requested,
                &Gate::remaining_ms,
                &Gate::on_cancel,
                &Gate::off_cancel},
      abi_error_{sizeof(rmgr_error), 0, this, &Gate::set_error} {}

Gate::Pass::Pass(Gate& gate) : gate_(gate) {
  const std::lock_guard lock(gate_.door_);
  call_ = gate_.call_;
  if (call_ != nullptr) ++gate_.inside_;
}

Gate::Pass::~Pass() {
  if (call_ == nullptr) return;
  const std::lock_guard lock(gate_.door_);
  --gate_.inside_;
  gate_.left_.notify_all();
}

Result<void> Gate::close(rmgr_status status) {
  {
    std::unique_lock lock(door_);
    call_ = nullptr;
    left_.wait(lock, [this] { return inside_ == 0; });
  }
  release();
  if (!violation_.empty())
    return Error{ErrorCode::internal,
                 "The plugin of " + subject_ + " broke the plugin contract (" + violation_ +
                     "); report it to its vendor.",
                 {}};
  if (refused_) return std::move(refusal_);
  if (status == RMGR_OK) return {};
  const std::optional<ErrorCode> code = to_code(status);
  if (!code)
    return Error{ErrorCode::internal,
                 "The plugin of " + subject_ + " answered the unknown status " + std::to_string(status) +
                     "; report it to its vendor.",
                 {}};
  if (message_.empty())
    message_ = "The plugin of " + subject_ + " failed (" + std::string(domain::to_string(*code)) +
               ") and did not say why.";
  return Error{*code, std::move(message_), retry_after_};
}

bool Gate::with_call(const rmgr_call* context, const std::function<void(Call&)>& use) {
  if (context == nullptr || context->struct_size < sizeof(rmgr_call) ||
      context->requested != &Gate::requested)
    return false;
  const Pass pass(*static_cast<Gate*>(context->ctx));
  if (pass.call() == nullptr) return false;
  use(*pass.call());
  return true;
}

rmgr_status Gate::violation(const std::string& what) {
  if (violation_.empty()) violation_ = what;
  return RMGR_E_INVALID;
}

rmgr_status Gate::refuse(Error error) {
  if (!refused_) refusal_ = std::move(error);
  refused_ = true;
  return to_status(refusal_.code);
}

rmgr_status Gate::count_item() {
  if (items_ >= most_items)
    return violation("more than " + std::to_string(most_items) + " items in one answer");
  ++items_;
  return RMGR_OK;
}

rmgr_status Gate::text(rmgr_str in, std::string& out, std::size_t most) {
  if (in.data == nullptr && in.size != 0) return violation("a text without bytes");
  if (in.size > most) return violation("a text of more than " + std::to_string(most) + " bytes");
  bytes_ += in.size;
  if (bytes_ > most_call_bytes) return violation("more than 16 MiB of text in one answer");
  const std::string_view view = in.data == nullptr ? std::string_view{} : std::string_view{in.data, in.size};
  const InPluginAgain its_memory;
  if (!is_utf8(view)) return violation("a text that is not UTF-8");
  out = view;
  return RMGR_OK;
}

std::int32_t Gate::requested(void* ctx) noexcept {
  const Pass pass(*static_cast<Gate*>(ctx));
  return pass.call() == nullptr || pass.call()->cancelled() ? 1 : 0;
}

std::int64_t Gate::remaining_ms(void* ctx) noexcept {
  const Pass pass(*static_cast<Gate*>(ctx));
  return pass.call() == nullptr ? 0 : pass.call()->remaining().count();
}

std::uint64_t Gate::on_cancel(void* ctx, void(RMGR_CALL* fn)(void*), void* arg) noexcept {
  const auto& gate = *static_cast<Gate*>(ctx);
  const Pass pass(*static_cast<Gate*>(ctx));
  if (pass.call() == nullptr || fn == nullptr) return 0;
  try {
    return pass.call()->on_cancel([fn, arg, digest = gate.digest_] {
      const InCallOf blame(digest);
      fn(arg);
    });
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

void Gate::off_cancel(void* ctx, std::uint64_t registration) noexcept {
  const Pass pass(*static_cast<Gate*>(ctx));
  if (pass.call() != nullptr) pass.call()->off_cancel(registration);
}

void Gate::set_error(void* ctx, rmgr_str message, std::int64_t retry_after_ms) noexcept {
  (void)enter(ctx, [&](Gate& gate) -> rmgr_status {
    if (gate.explained_) return RMGR_OK;
    gate.explained_ = true;
    gate.retry_after_ = std::chrono::milliseconds{std::clamp(retry_after_ms, std::int64_t{0}, most_retry_ms)};
    if (message.data != nullptr)
      gate.message_ = one_line({message.data, std::min(message.size, most_message)}, most_message);
    return RMGR_OK;
  });
}

TextGate::TextGate(Call& call, std::string subject, Take take)
    : Gate(call, std::move(subject)),
      take_(std::move(take)),
      sink_{sizeof(rmgr_text_sink), 0, context(), &TextGate::write} {}

rmgr_status TextGate::write(void* ctx, rmgr_str item) noexcept {
  return enter(ctx, [&](Gate& gate) -> rmgr_status {
    rmgr_status status = gate.count_item();
    std::string copy;
    if (status == RMGR_OK) status = gate.text(item, copy);
    if (status != RMGR_OK) return status;
    return as_host([&] { return static_cast<TextGate&>(gate).take_(gate, std::move(copy)); });
  });
}

}  // namespace agent::plugin
