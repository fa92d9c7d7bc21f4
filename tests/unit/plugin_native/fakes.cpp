#include "unit/plugin_native/fakes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace native::testing {
namespace {

namespace process = agent::process;
using agent::domain::ErrorCode;
using agent::domain::Millis;
using rmgr::from_abi;
using rmgr::to_abi;

FakeHost& of(void* ctx) { return *static_cast<FakeHost*>(ctx); }

rmgr_status explain(const agent::domain::Error& error, const rmgr_error* out) {
  if (out != nullptr) out->set(out->ctx, to_abi(error.message), 0);
  switch (error.code) {
    case ErrorCode::invalid: return RMGR_E_INVALID;
    case ErrorCode::not_found: return RMGR_E_NOT_FOUND;
    case ErrorCode::exists: return RMGR_E_EXISTS;
    case ErrorCode::busy: return RMGR_E_BUSY;
    default: return RMGR_E_RETRY;
  }
}

process::ProcessIdentity identity(const rmgr_process_identity* in) {
  return {in->pid, in->start_token, agent::domain::BootId(std::string(from_abi(in->boot_id)))};
}

rmgr_status RMGR_CALL kv_get(void* ctx, rmgr_str key, const rmgr_text_sink* value) {
  const auto found = of(ctx).kv.find(std::string(from_abi(key)));
  return found == of(ctx).kv.end() ? RMGR_E_NOT_FOUND : value->write(value->ctx, to_abi(found->second));
}
rmgr_status RMGR_CALL kv_put(void* ctx, rmgr_str key, rmgr_str value) {
  if (of(ctx).refuse_put != RMGR_OK) return of(ctx).refuse_put;
  of(ctx).kv[std::string(from_abi(key))] = from_abi(value);
  return RMGR_OK;
}
rmgr_status RMGR_CALL kv_remove(void* ctx, rmgr_str key) {
  of(ctx).kv.erase(std::string(from_abi(key)));
  return RMGR_OK;
}
rmgr_status RMGR_CALL kv_list(void* ctx, rmgr_str prefix, const rmgr_text_sink* keys) {
  for (const auto& [key, value] : of(ctx).kv) {
    if (key.starts_with(from_abi(prefix))) {
      const rmgr_status status = keys->write(keys->ctx, to_abi(key));
      if (status != RMGR_OK) return status;
    }
  }
  return RMGR_OK;
}

}  // namespace

Call::Call() {
  abi_.struct_size = sizeof abi_;
  abi_.requested = [](void*) -> std::int32_t { return 0; };
  abi_.remaining_ms = [](void*) -> std::int64_t { return 60'000; };
  abi_.on_cancel = [](void*, void(RMGR_CALL*)(void*), void*) -> std::uint64_t { return 1; };
  abi_.off_cancel = [](void*, std::uint64_t) {};
}

FakeHost::FakeHost() {
  abi_ = {sizeof abi_, 0, this, to_abi("native"), &FakeHost::service};
  kv_ = {sizeof kv_, 0, this, &kv_get, &kv_put, &kv_remove, &kv_list};
  process_ = {sizeof process_,
              0,
              this,
              &FakeHost::spawn,
              &FakeHost::release,
              &FakeHost::inspect,
              &FakeHost::stop,
              &FakeHost::forget,
              &FakeHost::abilities};
  state.state = RMGR_PROCESS_RUNNING;
}

const void* FakeHost::service(void* ctx, const char* id) {
  const std::string_view name(id);
  if (name == RMGR_SERVICE_KV) return &of(ctx).kv_;
  if (name == RMGR_SERVICE_PROCESS) return &of(ctx).process_;
  return nullptr;
}

rmgr_status FakeHost::spawn(void* ctx, const rmgr_call*, const rmgr_process_spec* spec,
                            const rmgr_identity_sink* sink, const rmgr_error* error) {
  FakeHost& self = of(ctx);
  Spawned spawned;
  spawned.key = from_abi(spec->key);
  spawned.directory = from_abi(spec->directory);
  spawned.uid = spec->uid;
  spawned.gid = spec->gid;
  spawned.cpu_milli = spec->cpu_milli;
  spawned.memory_bytes = spec->memory_bytes;
  spawned.pids = spec->pids;
  spawned.nice = spec->nice;
  spawned.no_new_privileges = spec->flags == RMGR_PROCESS_NO_NEW_PRIVILEGES;
  for (std::size_t i = 0; i < spec->resource_limit_count; ++i)
    spawned.resource_limits.emplace_back(from_abi(spec->resource_limits[i].name),
                                         spec->resource_limits[i].value);
  for (std::size_t i = 0; i < spec->hidden_directory_count; ++i)
    spawned.hidden.emplace_back(from_abi(spec->hidden_directories[i]));
  for (std::size_t i = 0; i < spec->private_directory_count; ++i)
    spawned.own.emplace_back(from_abi(spec->private_directories[i].target),
                             from_abi(spec->private_directories[i].backing));
  for (std::size_t i = 0; i < spec->argc; ++i)
    spawned.argv.emplace_back(from_abi(spec->argv[i]));
  for (std::size_t i = 0; i < spec->environment_count; ++i)
    spawned.environment.emplace_back(from_abi(spec->environment[i]));
  self.spawned.push_back(spawned);
  rmgr::ProcessIdentity made{4711, 7, "boot"};
  if (self.processes_ != nullptr) {
    process::Spec real;
    real.key = spawned.key;
    real.argv = spawned.argv;
    real.environment = spawned.environment;
    real.directory = spawned.directory;
    if (spec->uid >= 0) real.uid = static_cast<std::uint32_t>(spec->uid);
    if (spec->gid >= 0) real.gid = static_cast<std::uint32_t>(spec->gid);
    real.time_limit = Millis(spec->time_limit_ms);
    const auto held = self.processes_->spawn_held(real);
    if (!held) return explain(held.error(), error);
    made = {held->pid, held->start_token, held->boot_id.str()};
  }
  const rmgr_process_identity item = to_abi(made);
  return sink->write(sink->ctx, &item);
}

std::uint32_t FakeHost::abilities(void* ctx) { return to_abi(of(ctx).able); }

rmgr_status FakeHost::release(void* ctx, const rmgr_call*, rmgr_str key, const rmgr_process_identity* who,
                              rmgr_str name, rmgr_secret secret, const rmgr_error* error) {
  FakeHost& self = of(ctx);
  self.asked.push_back("release " + std::string(from_abi(key)) + ' ' + std::string(from_abi(name)));
  self.secret.assign(secret.bytes, secret.size);
  if (self.processes_ == nullptr) return self.release_answer;
  const auto released = self.processes_->release(from_abi(key), identity(who), from_abi(name),
                                                 {secret.bytes, secret.size}, Millis(20'000));
  return released ? RMGR_OK : explain(released.error(), error);
}

rmgr_status FakeHost::inspect(void* ctx, const rmgr_call*, rmgr_str key, const rmgr_process_identity* who,
                              rmgr_process_state* out, const rmgr_error* error) {
  FakeHost& self = of(ctx);
  rmgr_process_state answer = self.state;
  if (self.processes_ != nullptr) {
    const auto seen = self.processes_->inspect(from_abi(key), identity(who));
    if (!seen) return explain(seen.error(), error);
    answer.state = static_cast<std::int32_t>(seen->phase) + RMGR_PROCESS_PREPARED;
    answer.exit_code = seen->exit_code;
    answer.signal = seen->signal;
    answer.out_of_memory = seen->out_of_memory ? 1 : 0;
  }
  answer.struct_size = out->struct_size;
  *out = answer;
  return RMGR_OK;
}

rmgr_status FakeHost::stop(void* ctx, const rmgr_call*, rmgr_str key, const rmgr_process_identity* who,
                           std::int64_t grace_ms, const rmgr_error* error) {
  FakeHost& self = of(ctx);
  self.asked.push_back("stop " + std::string(from_abi(key)) + ' ' + std::to_string(grace_ms));
  if (self.processes_ == nullptr) return self.stop_answer;
  const auto stopped = self.processes_->stop(from_abi(key), identity(who), Millis(grace_ms), {});
  return stopped ? RMGR_OK : explain(stopped.error(), error);
}

rmgr_status FakeHost::forget(void* ctx, rmgr_str key, const rmgr_error* error) {
  FakeHost& self = of(ctx);
  self.asked.push_back("forget " + std::string(from_abi(key)));
  if (self.processes_ == nullptr) return RMGR_OK;
  const auto forgotten = self.processes_->forget(from_abi(key));
  return forgotten ? RMGR_OK : explain(forgotten.error(), error);
}

Directory::Directory() {
  std::string name = std::filesystem::temp_directory_path() / "rmgr-native-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
  ::chmod(name.c_str(), 0755);
}

Directory::~Directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void write_text(const std::string& path, const std::string& text, unsigned mode) {
  std::ofstream(path) << text;
  ::chmod(path.c_str(), mode);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool eventually(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(Millis(5));
  }
  return true;
}

rmgr::Status status_of(const std::function<void()>& act, std::string* message) {
  try {
    act();
  } catch (const rmgr::Error& error) {
    if (message != nullptr) *message = error.what();
    return error.status();
  }
  return rmgr::Status::ok;
}

}  // namespace native::testing
