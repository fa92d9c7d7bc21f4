#include "conform/host.hpp"
#include "conform/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers) CLOCK_BOOTTIME
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "conform/json.hpp"

namespace rmgr::conform {
namespace {

Host& of(void* ctx) { return *static_cast<Host*>(ctx); }

// --- log

std::int32_t RMGR_CALL log_enabled(void* ctx, std::int32_t /*level*/) noexcept {
  of(ctx).use("log");
  return 1;
}
void RMGR_CALL log_write(void* ctx, std::int32_t /*level*/, rmgr_str message) noexcept {
  of(ctx).use("log");
  if (!is_utf8(from_abi(message))) witness().note(Breach::not_utf8, "a log line");
  witness().heard(from_abi(message), "the log");
}

// --- clock

std::int64_t RMGR_CALL wall_ms(void* ctx) noexcept {
  of(ctx).use("clock");
  return std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch()).count();
}
std::int64_t RMGR_CALL boot_ms(void* ctx) noexcept {
  of(ctx).use("clock");
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}
rmgr_status RMGR_CALL sleep_ms(void* ctx, const rmgr_call* call, std::int64_t ms) noexcept {
  of(ctx).use("clock");
  if (call == nullptr) return RMGR_E_INVALID;
  const auto until = std::chrono::steady_clock::now() + Millis(std::max<std::int64_t>(ms, 0));
  while (std::chrono::steady_clock::now() < until) {
    if (call->remaining_ms(call->ctx) <= 0) return RMGR_E_DEADLINE;
    if (call->requested(call->ctx) != 0) return RMGR_E_CANCELLED;
    std::this_thread::sleep_for(Millis(5));
  }
  return RMGR_OK;
}

// --- secrets

bool read_secret(const std::string& reference, std::string& value) {
  std::string path;
  if (reference.starts_with("env:")) {
    const char* const found = std::getenv(reference.c_str() + 4);
    value = found == nullptr ? "" : found;
    return found != nullptr;
  }
  if (reference.starts_with("file:/")) path = reference.substr(5);
  const char* const credentials = std::getenv("CREDENTIALS_DIRECTORY");
  if (reference.starts_with("credential:") && credentials != nullptr)
    path = std::string(credentials) + "/" + reference.substr(11);
  auto text = read_file(path, RMGR_SECRET_MAX);
  value = text.value_or("");
  return text.has_value();
}

rmgr_status RMGR_CALL with_secret(void* ctx, rmgr_str reference,
                                  rmgr_status(RMGR_CALL* use)(void*, rmgr_secret), void* arg,
                                  const rmgr_error* error) noexcept {
  if (const rmgr_status broken = of(ctx).use("secrets"); broken != RMGR_OK)
    return explain(error, broken, "The secret cannot be read now.");
  std::string value;
  if (use == nullptr || !read_secret(std::string(from_abi(reference)), value))
    return explain(error, RMGR_E_DENIED, "The secret cannot be read; check its reference.");
  while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back())) != 0)
    value.pop_back();
  const bool fits =
      !value.empty() && value.size() <= RMGR_SECRET_MAX &&
      std::none_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (!fits)
    return explain(error, RMGR_E_INVALID, "The secret is empty, too large or holds control characters.");
  return use(arg, {value.data(), value.size()});
}

// --- work directory and thread check

rmgr_status RMGR_CALL work_directory(void* ctx, const rmgr_text_sink* sink,
                                     const rmgr_error* error) noexcept {
  of(ctx).use("work directory");
  const std::string path = of(ctx).directory() + "/work";
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return explain(error, RMGR_E_DENIED, "The work directory cannot be made.");
  return sink->write(sink->ctx, to_abi(path));
}

std::int32_t RMGR_CALL in_call(void* ctx) noexcept {
  of(ctx).use("thread check");
  return Operation::depth() > 0 ? 1 : 0;
}

}  // namespace

rmgr_status explain(const rmgr_error* error, rmgr_status status, std::string_view message) {
  if (error != nullptr && error->set != nullptr) error->set(error->ctx, to_abi(message), 0);
  return status;
}

Host::Host(const Context& context, std::set<std::string> absent)
    : directory_(context.scratch),
      program_(context.plan.program),
      name_("conform"),
      absent_(std::move(absent)) {
  library_ =
      shaped(rmgr_host{sizeof(rmgr_host), RMGR_ABI_MAJOR, shape().minor, this, &Host::library_service});
  instance_ =
      shaped(rmgr_instance_host{sizeof(rmgr_instance_host), 0, this, to_abi(name_), &Host::instance_service});
  log_ = shaped(rmgr_log_service{sizeof(rmgr_log_service), 0, this, &log_enabled, &log_write});
  clock_ = shaped(rmgr_clock_service{sizeof(rmgr_clock_service), 0, this, &wall_ms, &boot_ms, &sleep_ms});
  secrets_ = shaped(rmgr_secrets_service{sizeof(rmgr_secrets_service), 0, this, &with_secret});
  kv_ = shaped(kv_service(this));
  work_directory_ =
      shaped(rmgr_work_directory_service{sizeof(rmgr_work_directory_service), 0, this, &work_directory});
  thread_check_ = shaped(rmgr_thread_check_service{sizeof(rmgr_thread_check_service), 0, this, &in_call});
  process_ = shaped(process_service(this));
}

rmgr_status Host::use(const char* service) {
  if (retired_) witness().note(Breach::after_destroy, service);
  const rmgr_status fault = fault_;
  if (fault != RMGR_OK) ++broken_uses_;
  return fault;
}

const void* Host::library_service(void* ctx, const char* id) noexcept {
  const std::string_view wanted = id == nullptr ? "" : id;
  if (wanted != RMGR_SERVICE_LOG && wanted != RMGR_SERVICE_CLOCK) return nullptr;
  return instance_service(ctx, id);
}

const void* Host::instance_service(void* ctx, const char* id) noexcept {
  const Host& host = of(ctx);
  const std::string wanted = id == nullptr ? "" : id;
  if (host.absent_.contains(wanted)) return nullptr;
  if (wanted == RMGR_SERVICE_LOG) return host.log_;
  if (wanted == RMGR_SERVICE_CLOCK) return host.clock_;
  if (wanted == RMGR_SERVICE_SECRETS) return host.secrets_;
  if (wanted == RMGR_SERVICE_KV) return host.kv_;
  if (wanted == RMGR_SERVICE_WORK_DIRECTORY) return host.work_directory_;
  if (wanted == RMGR_SERVICE_THREAD_CHECK) return host.thread_check_;
  if (wanted == RMGR_SERVICE_PROCESS) return host.process_;
  return nullptr;
}

}  // namespace rmgr::conform
