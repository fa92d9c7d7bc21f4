// The services of a test host, for one library or one instance.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rmgr/abi/entry.h"
#include "rmgr/abi/host.h"
#include "rmgr/testing/process_service.hpp"
#include "rmgr/testing/world.hpp"

namespace rmgr::testing::detail {

class Services {
 public:
  // A library (with an empty name) has log and clock only.
  Services(World& world, std::string name) : world_(world), name_(std::move(name)), process_(world) {
    library_host_ = {size_of<rmgr_host>(), world.abi_major, world.abi_minor, this, &Services::find};
    instance_host_ = {size_of<rmgr_instance_host>(), 0, this, to_abi(name_), &Services::find};
    log_ = {size_of<rmgr_log_service>(), 0, this, &Services::log_enabled, &Services::log_write};
    clock_ = {
        size_of<rmgr_clock_service>(), 0, this, &Services::wall_ms, &Services::boot_ms, &Services::sleep_ms};
    secrets_ = {size_of<rmgr_secrets_service>(), 0, this, &Services::with_secret};
    kv_ = {size_of<rmgr_kv_service>(), 0, this, &Services::kv_get, &Services::kv_put, &Services::kv_remove,
           &Services::kv_list};
    work_directory_ = {size_of<rmgr_work_directory_service>(), 0, this, &Services::work_directory};
    thread_check_ = {size_of<rmgr_thread_check_service>(), 0, this, &Services::in_call};
  }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  [[nodiscard]] const rmgr_host* library_host() const { return &library_host_; }
  [[nodiscard]] const rmgr_instance_host* instance_host() const { return &instance_host_; }

  // The calling thread is inside a call of the instance as long as this lives.
  class Inside {
   public:
    explicit Inside(Services& services) : services_(services) {
      const std::lock_guard lock(services_.mutex_);
      services_.threads_.push_back(std::this_thread::get_id());
    }
    ~Inside() {
      const std::lock_guard lock(services_.mutex_);
      auto& threads = services_.threads_;
      threads.erase(std::find(threads.begin(), threads.end(), std::this_thread::get_id()));
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Services& services_;
  };
  // The instance is destroyed: whoever uses a service from now on breaks a rule.
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }

 private:
  template <class T>
  static constexpr std::uint32_t size_of() {
    return rmgr::detail::size_of<T>();
  }
  static Services& of(void* ctx, std::string_view what) {
    auto& self = *static_cast<Services*>(ctx);
    const std::lock_guard lock(self.mutex_);
    if (self.ended_) self.world_.record.violation(what, "was used after the instance had ended");
    return self;
  }

  static const void* RMGR_CALL find(void* ctx, const char* id) noexcept {
    Services& self = of(ctx, "get_service");
    if (id == nullptr) return nullptr;
    const std::string_view wanted(id);
    {
      const std::lock_guard lock(self.world_.mutex);
      if (self.world_.withheld.count(std::string(wanted)) != 0) return nullptr;
    }
    if (wanted == RMGR_SERVICE_LOG) return &self.log_;
    if (wanted == RMGR_SERVICE_CLOCK) return &self.clock_;
    if (self.name_.empty()) return nullptr;
    if (wanted == RMGR_SERVICE_SECRETS) return &self.secrets_;
    if (wanted == RMGR_SERVICE_KV) return &self.kv_;
    if (wanted == RMGR_SERVICE_WORK_DIRECTORY) return &self.work_directory_;
    if (wanted == RMGR_SERVICE_THREAD_CHECK) return &self.thread_check_;
    if (wanted == RMGR_SERVICE_PROCESS) return self.process_.service();
    return nullptr;
  }

  // --- log
  static std::int32_t RMGR_CALL log_enabled(void* /*ctx*/, std::int32_t level) noexcept {
    return level >= RMGR_LOG_DEBUG && level <= RMGR_LOG_ERROR ? 1 : 0;
  }
  static void RMGR_CALL log_write(void* ctx, std::int32_t level, rmgr_str message) noexcept {
    World& world = of(ctx, "log").world_;
    if (level < RMGR_LOG_DEBUG || level > RMGR_LOG_ERROR) world.record.violation("log", "an unknown level");
    if (world.record.check_text("log", message, 4096)) world.record.log(level, from_abi(message));
  }

  // --- clock
  static std::int64_t RMGR_CALL wall_ms(void* ctx) noexcept {
    return of(ctx, "clock").world_.clock.wall().count();
  }
  static std::int64_t RMGR_CALL boot_ms(void* ctx) noexcept {
    return of(ctx, "clock").world_.clock.boot().count();
  }
  static rmgr_status RMGR_CALL sleep_ms(void* ctx, const rmgr_call* call, std::int64_t ms) noexcept {
    World& world = of(ctx, "clock").world_;
    if (call == nullptr || !world.is_open(call)) {
      world.record.violation("clock", "a sleep without the context of a running call");
      return RMGR_E_INVALID;
    }
    const Millis wanted{std::clamp(ms, std::int64_t{0}, call->remaining_ms(call->ctx))};
    world.clock.sleep_until(world.clock.boot() + wanted, [&] { return call->requested(call->ctx) != 0; });
    if (call->remaining_ms(call->ctx) <= 0) return RMGR_E_DEADLINE;
    return call->requested(call->ctx) != 0 ? RMGR_E_CANCELLED : RMGR_OK;
  }

  // --- secrets
  static rmgr_status RMGR_CALL with_secret(void* ctx, rmgr_str reference,
                                           rmgr_status(RMGR_CALL* use)(void*, rmgr_secret), void* arg,
                                           const rmgr_error* error) noexcept {
    World& world = of(ctx, "secrets").world_;
    if (use == nullptr) return RMGR_E_INVALID;
    std::string value;
    {
      const std::lock_guard lock(world.mutex);
      const auto found = world.secrets.find(std::string(from_abi(reference)));
      if (found == world.secrets.end()) {
        rmgr::detail::explain(error, "The test host knows no such secret.", Millis{0});
        return RMGR_E_NOT_FOUND;
      }
      value = found->second;
    }
    const rmgr_status status = use(arg, {value.data(), value.size()});
    wipe(value.data(), value.size());
    return status;
  }

  // --- kv
  static bool usable_key(World& world, rmgr_str key) {
    return key.size > 0 && key.size <= 128 && world.record.check_text("kv", key, 128);
  }
  static rmgr_status RMGR_CALL kv_get(void* ctx, rmgr_str key, const rmgr_text_sink* value) noexcept {
    Services& self = of(ctx, "kv");
    if (!usable_key(self.world_, key) || value == nullptr) return RMGR_E_INVALID;
    std::string found;
    {
      const std::lock_guard lock(self.world_.mutex);
      const auto& map = self.world_.kv[self.name_];
      const auto at = map.find(std::string(from_abi(key)));
      if (at == map.end()) return RMGR_E_NOT_FOUND;
      found = at->second;
    }
    return value->write(value->ctx, to_abi(found));
  }
  static rmgr_status RMGR_CALL kv_put(void* ctx, rmgr_str key, rmgr_str value) noexcept {
    Services& self = of(ctx, "kv");
    if (!usable_key(self.world_, key) || !self.world_.record.check_text("kv", value)) return RMGR_E_INVALID;
    const std::lock_guard lock(self.world_.mutex);
    auto& map = self.world_.kv[self.name_];
    std::size_t size = key.size + value.size;
    for (const auto& [each, text] : map) {
      if (each != from_abi(key)) size += each.size() + text.size();
    }
    if (size > 65536) return RMGR_E_INVALID;
    map.insert_or_assign(std::string(from_abi(key)), std::string(from_abi(value)));
    return RMGR_OK;
  }
  static rmgr_status RMGR_CALL kv_remove(void* ctx, rmgr_str key) noexcept {
    Services& self = of(ctx, "kv");
    if (!usable_key(self.world_, key)) return RMGR_E_INVALID;
    const std::lock_guard lock(self.world_.mutex);
    self.world_.kv[self.name_].erase(std::string(from_abi(key)));
    return RMGR_OK;
  }
  static rmgr_status RMGR_CALL kv_list(void* ctx, rmgr_str prefix, const rmgr_text_sink* keys) noexcept {
    Services& self = of(ctx, "kv");
    if (prefix.size > 128 || keys == nullptr) return RMGR_E_INVALID;
    std::vector<std::string> found;
    {
      const std::lock_guard lock(self.world_.mutex);
      for (const auto& [each, text] : self.world_.kv[self.name_]) {
        if (std::string_view(each).substr(0, prefix.size) == from_abi(prefix)) found.push_back(each);
      }
    }
    for (const std::string& each : found) {
      const rmgr_status status = keys->write(keys->ctx, to_abi(each));
      if (status != RMGR_OK) return status;
    }
    return RMGR_OK;
  }

  // --- work directory and thread check
  static rmgr_status RMGR_CALL work_directory(void* ctx, const rmgr_text_sink* sink,
                                              const rmgr_error* error) noexcept {
    const Services& self = of(ctx, "work directory");
    if (sink == nullptr) return RMGR_E_INVALID;
    const std::string path = self.world_.root + "/work-" + self.name_;
    struct stat info {};
    if (::mkdir(path.c_str(), 0700) != 0 && ::stat(path.c_str(), &info) != 0) {
      rmgr::detail::explain(error, "The test host could not make a work directory.", Millis{0});
      return RMGR_E_DENIED;
    }
    return sink->write(sink->ctx, to_abi(path));
  }
  static std::int32_t RMGR_CALL in_call(void* ctx) noexcept {
    Services& self = of(ctx, "thread check");
    const std::lock_guard lock(self.mutex_);
    const auto& threads = self.threads_;
    return std::find(threads.begin(), threads.end(), std::this_thread::get_id()) != threads.end() ? 1 : 0;
  }

  World& world_;
  std::string name_;
  std::mutex mutex_;  // the next two
  std::vector<std::thread::id> threads_;
  bool ended_ = false;
  ProcessService process_;
  rmgr_host library_host_{};
  rmgr_instance_host instance_host_{};
  rmgr_log_service log_{};
  rmgr_clock_service clock_{};
  rmgr_secrets_service secrets_{};
  rmgr_kv_service kv_{};
  rmgr_work_directory_service work_directory_{};
  rmgr_thread_check_service thread_check_{};
};

}  // namespace rmgr::testing::detail
