#include "daemon/services.hpp"

#include <future>
#include <memory>

namespace agent::daemon {

using domain::Error;
using domain::ErrorCode;
using domain::InstanceName;
using domain::Result;

namespace {

// A commit takes milliseconds; a loop that is silent for this long is going down.
constexpr std::chrono::seconds kLoopPatience{20};
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

KvBridge::KvBridge(journal::Journal& journal, Post post, std::function<bool()> on_loop_thread)
    : journal_(journal), post_(std::move(post)), on_loop_thread_(std::move(on_loop_thread)) {}

template <class T>
Result<T> KvBridge::carry(std::function<Result<T>()> work) {
  if (on_loop_thread_()) return work();
  auto promise = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> answer = promise->get_future();
  post_([promise, work = std::move(work)] { promise->set_value(work()); });
  const auto end = std::chrono::steady_clock::now() + kLoopPatience;
  while (!closed_ && std::chrono::steady_clock::now() < end) {
    if (answer.wait_for(kLook) == std::future_status::ready) return answer.get();
  }
  return Error{.code = ErrorCode::deadline,
               .message = "the journal did not answer in time; the agent is stopping or its disk hangs",
               .retry_after = domain::Millis{0}};
}

Result<std::optional<std::string>> KvBridge::get(const InstanceName& instance, std::string_view key) {
  return carry<std::optional<std::string>>(
      [this, instance, key = std::string(key)] { return journal_.kv_get(instance, key); });
}

Result<void> KvBridge::put(const InstanceName& instance, std::string_view key, std::string_view value) {
  return carry<void>([this, instance, key = std::string(key), value = std::string(value)] {
    return journal_.kv_put(instance, key, value);
  });
}

Result<void> KvBridge::remove(const InstanceName& instance, std::string_view key) {
  return carry<void>([this, instance, key = std::string(key)] { return journal_.kv_remove(instance, key); });
}

Result<std::vector<std::string>> KvBridge::list(const InstanceName& instance, std::string_view prefix) {
  return carry<std::vector<std::string>>(
      [this, instance, prefix = std::string(prefix)] { return journal_.kv_list(instance, prefix); });
}

Result<domain::ProcessIdentity> ProcessBridge::spawn_held(plugin::Call&,
                                                          const plugin::ProcessRequest& request) {
  process::Spec spec;
  spec.key = request.key;
  spec.argv = request.argv;
  spec.environment = request.environment;
  spec.directory = request.directory;
  spec.uid = request.uid;
  spec.gid = request.gid;
  spec.time_limit = request.time_limit;
  spec.limits = {request.cpu_milli, request.memory_bytes, request.pids};
  spec.nice = request.nice;
  spec.no_new_privileges = request.no_new_privileges;
  for (const auto& [name, value] : request.resource_limits)
    spec.resource_limits.push_back({name, value});
  spec.hidden_directories = request.hidden_directories;
  for (const auto& [target, backing] : request.private_directories)
    spec.private_directories.push_back({target, backing});
  return host_.spawn_held(spec);
}

Result<void> ProcessBridge::release(plugin::Call& call, std::string_view key,
                                    const domain::ProcessIdentity& identity, std::string_view secret_name,
                                    std::string_view secret) {
  return host_.release(key, identity, secret_name, secret, call.remaining());
}

Result<plugin::EnvironmentState> ProcessBridge::inspect(plugin::Call&, std::string_view key,
                                                        const domain::ProcessIdentity& identity,
                                                        int& signal) {
  auto state = host_.inspect(key, identity);
  if (!state) return state.error();
  plugin::EnvironmentState answer;
  signal = state->signal;
  answer.out_of_memory = state->out_of_memory;
  switch (state->phase) {
    case process::Phase::prepared: answer.view = domain::EnvironmentView::prepared; break;
    case process::Phase::running: answer.view = domain::EnvironmentView::running; break;
    case process::Phase::missing: answer.view = domain::EnvironmentView::missing; break;
    case process::Phase::exited:
      answer.view = domain::EnvironmentView::exited;
      answer.exit_code = state->signal == 0 ? state->exit_code : -1;
      answer.clean = state->signal == 0 && state->exit_code == 0;
      break;
  }
  return answer;
}

Result<void> ProcessBridge::stop(plugin::Call& call, std::string_view key,
                                 const domain::ProcessIdentity& identity, domain::Millis grace) {
  return host_.stop(key, identity, grace, [&call] { return call.cancelled(); });
}

Result<void> ProcessBridge::forget(std::string_view key) { return host_.forget(key); }

plugin::ProcessAbilities ProcessBridge::abilities() const {
  const process::Abilities able = host_.abilities();
  return {able.groups, able.limit_cpu, able.limit_memory, able.limit_pids, able.accounts, able.directories};
}

}  // namespace agent::daemon
