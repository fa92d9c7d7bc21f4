// What the host offers to one library or instance: the service structs of rmgr/abi/host.h and what is behind
// them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "observe/log.hpp"
#include "plugin/host.hpp"
#include "rmgr/abi/entry.h"
#include "rmgr/abi/host.h"

namespace agent::plugin {

// The daemon's ends of the services. Plugins may outlive them (a thread that never came back), so they are
// reached through this and taken away when the host ends.
class Ports {
 public:
  Ports(observe::Log& log, const HostOptions& options)
      : log_(&log),
        kv_(options.kv),
        process_(options.process),
        work_directory_(options.work_directory),
        abi_(options.abi) {}

  // `use` runs only while the daemon's ends are there; answers whether it ran.
  bool with_log(const std::function<void(observe::Log&)>& use) const;
  bool with_kv(const std::function<void(KvPort&)>& use) const;
  bool with_process(const std::function<void(ProcessPort&)>& use) const;
  [[nodiscard]] bool has_kv() const { return kv_ != nullptr; }
  [[nodiscard]] bool has_process() const { return process_ != nullptr; }
  [[nodiscard]] const std::string& work_directory() const { return work_directory_; }
  [[nodiscard]] AbiVersion abi() const { return abi_; }

  // Takes them away from later uses, and waits at most `patience` for those in progress.
  void detach(domain::Millis patience);

 private:
  mutable std::shared_timed_mutex in_use_;  // held shared by each use
  std::atomic<observe::Log*> log_;
  std::atomic<KvPort*> kv_;
  std::atomic<ProcessPort*> process_;
  std::string work_directory_;
  AbiVersion abi_;
};

// Threads that run a call of one instance right now.
class ThreadsInCall {
 public:
  void enter();
  void leave();
  [[nodiscard]] bool here() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::thread::id> threads_;
};

// The services of one instance; of a library (with an empty instance name) log and clock only. Outlives its
// users.
class Services {
 public:
  Services(std::shared_ptr<Ports> ports, std::string plugin, domain::InstanceName instance);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  // The struct of a service, or null. Any thread.
  [[nodiscard]] const void* find(std::string_view id) const;
  [[nodiscard]] const rmgr_host* library_host() const { return &library_host_; }
  [[nodiscard]] const rmgr_instance_host* instance_host() const { return &instance_host_; }

  [[nodiscard]] const Ports& ports() const { return *ports_; }
  [[nodiscard]] const std::string& plugin() const { return plugin_; }
  [[nodiscard]] const domain::InstanceName& instance() const { return instance_; }
  [[nodiscard]] ThreadsInCall& threads() { return threads_; }

 private:
  std::shared_ptr<Ports> ports_;
  std::string plugin_;
  domain::InstanceName instance_;
  ThreadsInCall threads_;
  rmgr_host library_host_;
  rmgr_instance_host instance_host_;
  rmgr_log_service log_;
  rmgr_clock_service clock_;
  rmgr_secrets_service secrets_;
  rmgr_kv_service kv_;
  rmgr_work_directory_service work_directory_;
  rmgr_thread_check_service thread_check_;
  rmgr_process_service process_;
};

// The functions of each service, with a Services as context; in a file of their own each.
rmgr_log_service make_log_service(Services* services);
rmgr_clock_service make_clock_service(Services* services);
rmgr_secrets_service make_secrets_service(Services* services);
rmgr_kv_service make_kv_service(Services* services);
rmgr_work_directory_service make_work_directory_service(Services* services);
rmgr_thread_check_service make_thread_check_service(Services* services);
rmgr_process_service make_process_service(Services* services);

// --- helpers of those files
[[nodiscard]] inline std::string_view view_of(rmgr_str text) {
  return text.data == nullptr ? std::string_view{} : std::string_view{text.data, text.size};
}
// Tells a plugin why a service failed; answers the status.
rmgr_status explain(const rmgr_error* error, const domain::Error& failure) noexcept;
// Runs a service function at the boundary: no exception of ours reaches a plugin.
template <class Body>
rmgr_status at_boundary(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return RMGR_E_RETRY;
  } catch (...) {
    return RMGR_E_INTERNAL;
  }
}

}  // namespace agent::plugin
