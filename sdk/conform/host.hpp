// The host that a plugin meets in the suite: every service of rmgr/abi/host.h, small and watched.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>

#include "conform/operation.hpp"
#include "conform/test.hpp"
#include "rmgr/abi/host.h"
#include "rmgr/text.hpp"

namespace rmgr::conform {

class Host {
 public:
  // What is durable is kept below the scratch directory of the context, so that a later process finds it.
  // `absent` are ids of services that this host does not offer.
  explicit Host(const Context& context, std::set<std::string> absent = {});
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] const rmgr_host* library() const { return library_; }
  [[nodiscard]] const rmgr_instance_host* instance() const { return instance_; }

  // From now on every use of a service is a breach: the instance has ended.
  void retire() { retired_ = true; }
  // What process, kv and secrets answer from now on instead of working; RMGR_OK to work again.
  void break_services(rmgr_status status) { fault_ = status; }
  [[nodiscard]] int broken_uses() const { return broken_uses_; }

  // For the services themselves.
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& program() const { return program_; }
  // Notes a use; answers the status that a broken service gives.
  rmgr_status use(const char* service);

 private:
  static const void* RMGR_CALL library_service(void* ctx, const char* id) noexcept;
  static const void* RMGR_CALL instance_service(void* ctx, const char* id) noexcept;

  std::string directory_, program_, name_;
  std::set<std::string> absent_;
  std::atomic<bool> retired_{false};
  std::atomic<rmgr_status> fault_{RMGR_OK};
  std::atomic<int> broken_uses_{0};
  const rmgr_host* library_;
  const rmgr_instance_host* instance_;
  const rmgr_log_service* log_;
  const rmgr_clock_service* clock_;
  const rmgr_secrets_service* secrets_;
  const rmgr_kv_service* kv_;
  const rmgr_work_directory_service* work_directory_;
  const rmgr_thread_check_service* thread_check_;
  const rmgr_process_service* process_;
};

[[nodiscard]] rmgr_kv_service kv_service(Host* host);
[[nodiscard]] rmgr_process_service process_service(Host* host);

rmgr_status explain(const rmgr_error* error, rmgr_status status, std::string_view message);

// The program that holds, starts and outlives the child of the process service. Answers an exit code.
int supervise(const std::string& directory);

}  // namespace rmgr::conform
