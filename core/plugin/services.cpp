#include "plugin/services.hpp"

#include <algorithm>

#include "plugin/gate.hpp"

namespace agent::plugin {
namespace {

const void* RMGR_CALL find_service(void* ctx, const char* id) noexcept {
  return id == nullptr ? nullptr : static_cast<Services*>(ctx)->find(id);
}

}  // namespace

bool Ports::with_log(const std::function<void(observe::Log&)>& use) const {
  const std::shared_lock lock(in_use_);
  observe::Log* const log = log_;
  if (log != nullptr) use(*log);
  return log != nullptr;
}

bool Ports::with_kv(const std::function<void(KvPort&)>& use) const {
  const std::shared_lock lock(in_use_);
  KvPort* const kv = kv_;
  if (kv != nullptr) use(*kv);
  return kv != nullptr;
}

bool Ports::with_process(const std::function<void(ProcessPort&)>& use) const {
  const std::shared_lock lock(in_use_);
  ProcessPort* const process = process_;
  if (process != nullptr) use(*process);
  return process != nullptr;
}

void Ports::detach(domain::Millis patience) {
  log_ = nullptr;
  kv_ = nullptr;
  process_ = nullptr;
  const std::unique_lock waited(in_use_, patience);
}

void ThreadsInCall::enter() {
  const std::lock_guard lock(mutex_);
  threads_.push_back(std::this_thread::get_id());
}

void ThreadsInCall::leave() {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(threads_.begin(), threads_.end(), std::this_thread::get_id());
  if (found != threads_.end()) threads_.erase(found);
}

bool ThreadsInCall::here() const {
  const std::lock_guard lock(mutex_);
  return std::find(threads_.begin(), threads_.end(), std::this_thread::get_id()) != threads_.end();
}

Services::Services(std::shared_ptr<Ports> ports, std::string plugin, domain::InstanceName instance)
    : ports_(std::move(ports)),
      plugin_(std::move(plugin)),
      instance_(std::move(instance)),
      library_host_{sizeof(rmgr_host), ports_->abi().major, ports_->abi().minor, this, &find_service},
      instance_host_{sizeof(rmgr_instance_host), 0, this, to_abi(instance_.str()), &find_service},
      log_(make_log_service(this)),
      clock_(make_clock_service(this)),
      secrets_(make_secrets_service(this)),
      kv_(make_kv_service(this)),
      work_directory_(make_work_directory_service(this)),
      thread_check_(make_thread_check_service(this)),
      process_(make_process_service(this)) {}

const void* Services::find(std::string_view id) const {
  if (id == RMGR_SERVICE_LOG) return &log_;
  if (id == RMGR_SERVICE_CLOCK) return &clock_;
  if (instance_.empty()) return nullptr;
  if (id == RMGR_SERVICE_SECRETS) return &secrets_;
  if (id == RMGR_SERVICE_KV) return ports_->has_kv() ? &kv_ : nullptr;
  if (id == RMGR_SERVICE_WORK_DIRECTORY) return ports_->work_directory().empty() ? nullptr : &work_directory_;
  if (id == RMGR_SERVICE_THREAD_CHECK) return &thread_check_;
  if (id == RMGR_SERVICE_PROCESS) return ports_->has_process() ? &process_ : nullptr;
  return nullptr;
}

rmgr_status explain(const rmgr_error* error, const domain::Error& failure) noexcept {
  if (error != nullptr && error->set != nullptr)
    error->set(error->ctx, to_abi(failure.message), failure.retry_after.count());
  return to_status(failure.code);
}

}  // namespace agent::plugin
