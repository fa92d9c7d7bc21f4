// log, clock, secrets and thread check.
#include <time.h>  // NOLINT(modernize-deprecated-headers) CLOCK_BOOTTIME

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "plugin/crash_note.hpp"
#include "plugin/gate.hpp"
#include "plugin/secrets.hpp"
#include "plugin/services.hpp"

namespace agent::plugin {
namespace {

constexpr std::size_t most_log_text = 4096;

Services& of(void* ctx) { return *static_cast<Services*>(ctx); }

// --- log

std::int32_t RMGR_CALL log_enabled(void* /*ctx*/, std::int32_t level) noexcept {
  return level >= RMGR_LOG_DEBUG && level <= RMGR_LOG_ERROR ? 1 : 0;
}

observe::Level level_of(std::int32_t level) {
  if (level <= RMGR_LOG_DEBUG) return observe::Level::debug;
  if (level == RMGR_LOG_INFO) return observe::Level::info;
  if (level == RMGR_LOG_WARNING) return observe::Level::warning;
  return observe::Level::error;
}

void RMGR_CALL log_write(void* ctx, std::int32_t level, rmgr_str message) noexcept {
  (void)at_boundary([&]() -> rmgr_status {
    const Services& services = of(ctx);
    const std::string_view given = view_of(message);
    const std::string line = one_line(given.substr(0, most_log_text), most_log_text);
    services.ports().with_log([&](observe::Log& log) {
      const InHostCode host;
      log.write(level_of(level), observe::Event::plugin_message,
                {{observe::Field::plugin, services.plugin()},
                 {observe::Field::instance, services.instance().str()},
                 {observe::Field::message, line}});
    });
    return RMGR_OK;
  });
}

// --- clock

std::int64_t RMGR_CALL wall_ms(void* /*ctx*/) noexcept {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::int64_t RMGR_CALL boot_ms(void* /*ctx*/) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

struct Sleeper {
  std::mutex mutex;
  std::condition_variable changed;
  bool cancelled = false;
};

void RMGR_CALL wake(void* arg) noexcept {
  const InHostCode host;
  auto* sleeper = static_cast<Sleeper*>(arg);
  const std::lock_guard lock(sleeper->mutex);
  sleeper->cancelled = true;
  sleeper->changed.notify_all();
}

rmgr_status RMGR_CALL sleep_ms(void* /*ctx*/, const rmgr_call* call, std::int64_t ms) noexcept {
  return at_boundary([&]() -> rmgr_status {
    if (call == nullptr) return RMGR_E_INVALID;
    Sleeper sleeper;
    const std::int64_t left = call->remaining_ms(call->ctx);
    const std::uint64_t registration = call->on_cancel(call->ctx, &wake, &sleeper);
    if (registration == 0) return call->requested(call->ctx) != 0 ? RMGR_E_CANCELLED : RMGR_E_RETRY;
    {
      std::unique_lock lock(sleeper.mutex);
      const std::chrono::milliseconds span{std::clamp(ms, std::int64_t{0}, left)};
      sleeper.changed.wait_for(lock, span, [&] { return sleeper.cancelled; });
    }
    call->off_cancel(call->ctx, registration);
    if (call->remaining_ms(call->ctx) <= 0) return RMGR_E_DEADLINE;
    return sleeper.cancelled ? RMGR_E_CANCELLED : RMGR_OK;
  });
}

// --- secrets

rmgr_status RMGR_CALL secret_use(void* /*ctx*/, rmgr_str reference,
                                 rmgr_status(RMGR_CALL* use)(void*, rmgr_secret), void* arg,
                                 const rmgr_error* error) noexcept {
  return at_boundary([&]() -> rmgr_status {
    if (use == nullptr) return RMGR_E_INVALID;
    rmgr_status answer = RMGR_E_INTERNAL;
    const std::string wanted(view_of(reference));
    const auto read = as_host([&] {
      return with_secret(wanted, [&](std::string_view value) {
        const InPluginAgain plugin;
        answer = use(arg, {value.data(), value.size()});
      });
    });
    return read ? answer : explain(error, read.error());
  });
}

// --- thread check

std::int32_t RMGR_CALL in_call(void* ctx) noexcept { return of(ctx).threads().here() ? 1 : 0; }

}  // namespace

rmgr_log_service make_log_service(Services* services) {
  return {sizeof(rmgr_log_service), 0, services, &log_enabled, &log_write};
}
rmgr_clock_service make_clock_service(Services* services) {
  return {sizeof(rmgr_clock_service), 0, services, &wall_ms, &boot_ms, &sleep_ms};
}
rmgr_secrets_service make_secrets_service(Services* services) {
  return {sizeof(rmgr_secrets_service), 0, services, &secret_use};
}
rmgr_thread_check_service make_thread_check_service(Services* services) {
  return {sizeof(rmgr_thread_check_service), 0, services, &in_call};
}

}  // namespace agent::plugin
