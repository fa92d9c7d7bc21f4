#include "conform/operation.hpp"

#include <algorithm>

#include "conform/json.hpp"

namespace rmgr::conform {

std::string status_name(rmgr_status status) {
  constexpr const char* names[] = {"ok",          "invalid",      "not_found",   "exists",  "retry",
                                   "cancelled",   "deadline",     "unsupported", "denied",  "unauthorized",
                                   "unreachable", "bad_response", "busy",        "internal"};
  if (status < RMGR_OK || status > RMGR_STATUS_LAST) return "the unknown status " + std::to_string(status);
  return names[status];
}

std::string Answer::text() const {
  return operation + " answered " + status_name(status) +
         (message.empty() ? "" : " (" + printable(message, 200) + ")");
}

CallState::CallState(std::string name, const Within& within)
    : name_(std::move(name)),
      correlation_("conform-1"),
      owner_(std::this_thread::get_id()),
      until_(std::chrono::steady_clock::now() + within.deadline),
      cancelled_(within.cancelled) {
  call_ = shaped(rmgr_call{sizeof(rmgr_call),
                           0,
                           this,
                           {correlation_.data(), correlation_.size()},
                           &CallState::requested,
                           &CallState::remaining_ms,
                           &CallState::on_cancel,
                           &CallState::off_cancel});
  error_ = shaped(rmgr_error{sizeof(rmgr_error), 0, this, &CallState::explain});
}

bool CallState::usable(const char* what) const {
  if (!open_) witness().note(Breach::late_write, name_ + ": " + what);
  return open_;
}

rmgr_status CallState::accept() {
  if (!usable("a sink")) return RMGR_E_INTERNAL;
  if (std::this_thread::get_id() != owner_) witness().note(Breach::foreign_thread, name_ + ": a sink");
  if (explained_) witness().note(Breach::after_error, name_);
  if (refused_) witness().note(Breach::after_refusal, name_);
  if (refuse_from_ >= 0 && items_ >= refuse_from_) refused_ = true;
  if (refused_) return RMGR_E_RETRY;
  ++items_;
  return RMGR_OK;
}

void CallState::text(rmgr_str value, std::string& out) {
  if (value.data != nullptr) out.assign(value.data, std::min(value.size, std::size_t{1} << 20U));
  if (!is_utf8(out)) witness().note(Breach::not_utf8, name_ + ": an answer");
  witness().heard(out, "an answer of " + name_);
}

Answer CallState::close(rmgr_status status) {
  open_ = false;
  if (status < RMGR_OK || status > RMGR_STATUS_LAST)
    witness().note(Breach::unknown_status, name_ + " answered " + std::to_string(status));
  if (status == RMGR_OK && explained_) witness().note(Breach::explained_success, name_);
  if (status != RMGR_OK && !explained_ && !refused_) witness().note(Breach::unexplained, name_);
  return {name_, status, message_, explained_};
}

void CallState::cancel() {
  std::unique_lock lock(mutex_);
  cancelled_ = true;
  for (auto& [number, hook] : hooks_) {
    if (hook.done) continue;
    hook.running = true;
    const Hook copy = hook;
    lock.unlock();
    copy.fn(copy.arg);
    lock.lock();
    hook.running = false;
    hook.done = true;
    changed_.notify_all();
  }
}

std::int32_t CallState::requested(void* ctx) noexcept {
  const auto* self = static_cast<CallState*>(ctx);
  self->usable("the call context");
  return self->cancelled_ || std::chrono::steady_clock::now() >= self->until_ ? 1 : 0;
}

std::int64_t CallState::remaining_ms(void* ctx) noexcept {
  const auto* self = static_cast<CallState*>(ctx);
  self->usable("the call context");
  const auto left = std::chrono::duration_cast<Millis>(self->until_ - std::chrono::steady_clock::now());
  return std::max<std::int64_t>(left.count(), 0);
}

std::uint64_t CallState::on_cancel(void* ctx, void(RMGR_CALL* fn)(void*), void* arg) noexcept {
  auto* self = static_cast<CallState*>(ctx);
  if (!self->usable("the call context") || fn == nullptr) return 0;
  std::unique_lock lock(self->mutex_);
  const std::uint64_t number = self->next_++;
  self->hooks_[number] = {fn, arg, false, self->cancelled_};
  const bool at_once = self->cancelled_;
  lock.unlock();
  if (at_once) fn(arg);
  return number;
}

void CallState::off_cancel(void* ctx, std::uint64_t registration) noexcept {
  auto* self = static_cast<CallState*>(ctx);
  std::unique_lock lock(self->mutex_);
  const auto found = self->hooks_.find(registration);
  if (found == self->hooks_.end()) return;
  found->second.done = true;  // the map keeps it: a cancel may stand at it
  self->changed_.wait(lock, [&] { return !found->second.running; });
}

void CallState::explain(void* ctx, rmgr_str message, std::int64_t /*retry_after_ms*/) noexcept {
  auto* self = static_cast<CallState*>(ctx);
  if (!self->usable("the error")) return;
  if (std::this_thread::get_id() != self->owner_)
    witness().note(Breach::foreign_thread, self->name_ + ": the error");
  if (self->explained_.exchange(true)) witness().note(Breach::explained_twice, self->name_);
  if (message.data != nullptr)
    self->message_.assign(message.data, std::min<std::size_t>(message.size, 65536));
  if (!is_utf8(self->message_)) witness().note(Breach::not_utf8, self->name_ + ": the error");
  witness().heard(self->message_, "the error of " + self->name_);
}

Operation::Operation(const std::string& name, const Within& within)
    : state_(std::make_shared<CallState>(name, within)) {
  witness().keep(state_);
}

const rmgr_text_sink* Operation::text_sink(std::function<void(std::string)> take) {
  struct Sink {
    CallState* state;
    std::function<void(std::string)> take;
    static rmgr_status RMGR_CALL write(void* ctx, rmgr_str item) noexcept {
      auto* self = static_cast<Sink*>(ctx);
      const rmgr_status status = self->state->accept();
      if (status != RMGR_OK) return status;
      std::string copy;
      self->state->text(item, copy);
      self->take(std::move(copy));
      return RMGR_OK;
    }
  };
  auto made = std::make_shared<Sink>(Sink{state_.get(), std::move(take)});
  witness().keep(made);
  return shaped(rmgr_text_sink{sizeof(rmgr_text_sink), 0, made.get(), &Sink::write});
}

int& Operation::depth() {
  thread_local int depth = 0;
  return depth;
}

Later::Later(Millis delay, std::function<void()> fn)
    : thread_([this, delay, run = std::move(fn)] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, delay, [this] { return dropped_; })) return;
        lock.unlock();
        run();
      }) {}

Later::~Later() {
  {
    const std::lock_guard lock(mutex_);
    dropped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace rmgr::conform
