#include "unit/plugin_github/fakes.hpp"

#include <algorithm>

namespace plugin_test {
namespace {

FakeHost& host_of(void* ctx) { return *static_cast<FakeHost*>(ctx); }

}  // namespace

FakeHost::FakeHost() {
  log_service_ = {sizeof(log_service_), 0, this, [](void*, std::int32_t) { return std::int32_t{1}; },
                  [](void* ctx, std::int32_t, rmgr_str text) {
                    auto& self = host_of(ctx);
                    const std::lock_guard lock(self.mutex_);
                    self.lines_.emplace_back(rmgr::from_abi(text));
                  }};
  clock_ = {sizeof(clock_),
            0,
            this,
            [](void* ctx) { return host_of(ctx).now_.load() + host_of(ctx).wall_base_.load(); },
            [](void* ctx) { return host_of(ctx).now_.load(); },
            [](void*, const rmgr_call*, std::int64_t) { return rmgr_status{RMGR_OK}; }};
  secrets_ = {sizeof(secrets_), 0, this,
              [](void* ctx, rmgr_str reference, rmgr_status (*use)(void*, rmgr_secret), void* arg,
                 const rmgr_error* error) -> rmgr_status {
                auto& self = host_of(ctx);
                ++self.reads_;
                std::string value;
                {
                  const std::lock_guard lock(self.mutex_);
                  const auto found = self.values_.find(std::string(rmgr::from_abi(reference)));
                  if (found == self.values_.end()) {
                    error->set(error->ctx, rmgr::to_abi("there is no such secret"), 0);
                    return RMGR_E_NOT_FOUND;
                  }
                  value = found->second;
                }
                return use(arg, rmgr_secret{value.data(), value.size()});
              }};
  host_ = {sizeof(host_), 0, this, rmgr::to_abi("test"), [](void* ctx, const char* id) -> const void* {
             auto& self = host_of(ctx);
             const std::string_view wanted(id);
             if (wanted == RMGR_SERVICE_LOG) return &self.log_service_;
             if (wanted == RMGR_SERVICE_CLOCK) return &self.clock_;
             if (wanted == RMGR_SERVICE_SECRETS) return &self.secrets_;
             return nullptr;
           }};
}

void FakeHost::set_secret(const std::string& reference, const std::string& value) {
  const std::lock_guard lock(mutex_);
  values_[reference] = value;
}

std::vector<std::string> FakeHost::log() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

FakeCall::FakeCall(std::chrono::milliseconds limit, std::size_t room)
    : view_(&call_), deadline_(std::chrono::steady_clock::now() + limit), room_(room) {
  call_ = {sizeof(call_),
           0,
           this,
           rmgr::to_abi("test"),
           [](void* ctx) {
             auto& self = *static_cast<FakeCall*>(ctx);
             const std::lock_guard lock(self.mutex_);
             return std::int32_t{self.cancelled_};
           },
           [](void* ctx) {
             const auto left = static_cast<FakeCall*>(ctx)->deadline_ - std::chrono::steady_clock::now();
             const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
             return std::max<std::int64_t>(ms, 0);
           },
           [](void* ctx, void (*fn)(void*), void* arg) {
             auto& self = *static_cast<FakeCall*>(ctx);
             const std::lock_guard lock(self.mutex_);
             if (self.hooks_.size() >= self.room_) return std::uint64_t{0};
             if (self.cancelled_) fn(arg);
             self.hooks_[self.next_] = {fn, arg};
             return self.next_++;
           },
           [](void* ctx, std::uint64_t registration) {
             auto& self = *static_cast<FakeCall*>(ctx);
             const std::lock_guard lock(self.mutex_);
             self.hooks_.erase(registration);
           }};
}

void FakeCall::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (const auto& [id, hook] : hooks_)
    hook.first(hook.second);
}

std::size_t FakeCall::hooks() const {
  const std::lock_guard lock(mutex_);
  return hooks_.size();
}

}  // namespace plugin_test
