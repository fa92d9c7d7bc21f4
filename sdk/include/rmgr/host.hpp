// What the host offers to a component. A component gets a rmgr::Host in its constructor, may copy and keep it
// until its destructor ends, and may use it from any thread. Failures arrive as rmgr::Error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rmgr/abi/entry.h"
#include "rmgr/abi/host.h"
#include "rmgr/call.hpp"
#include "rmgr/error.hpp"
#include "rmgr/secret.hpp"

namespace rmgr {

namespace detail {

// A sink that collects into a vector.
class TextItems {
 public:
  TextItems() : abi_{size_of<rmgr_text_sink>(), 0, this, &TextItems::write} {}
  TextItems(const TextItems&) = delete;
  TextItems& operator=(const TextItems&) = delete;
  [[nodiscard]] const rmgr_text_sink* abi() const noexcept { return &abi_; }
  [[nodiscard]] std::vector<std::string>& items() noexcept { return items_; }

 private:
  static rmgr_status RMGR_CALL write(void* ctx, rmgr_str item) noexcept {
    return guard(nullptr, [&] { static_cast<TextItems*>(ctx)->items_.emplace_back(from_abi(item)); });
  }
  rmgr_text_sink abi_;
  std::vector<std::string> items_;
};

template <class Service>
const Service& require(const Service* service, std::string_view id) {
  if (service == nullptr)
    throw Error(Status::unsupported, "This host does not offer the service " + std::string(id) + ".");
  return *service;
}

}  // namespace detail

// One line for the operator. Never a secret, never raw output of a child, never a name that a job chose.
class Log {
 public:
  explicit Log(const rmgr_log_service* service) noexcept : service_(service) {}
  void debug(std::string_view message) const noexcept { write(RMGR_LOG_DEBUG, message); }
  void info(std::string_view message) const noexcept { write(RMGR_LOG_INFO, message); }
  void warning(std::string_view message) const noexcept { write(RMGR_LOG_WARNING, message); }
  void error(std::string_view message) const noexcept { write(RMGR_LOG_ERROR, message); }

 private:
  void write(std::int32_t level, std::string_view message) const noexcept {
    if (service_ != nullptr && service_->enabled(service_->ctx, level) != 0)
      service_->write(service_->ctx, level, to_abi(message));
  }
  const rmgr_log_service* service_;
};

// Use this rather than the system's clocks: it is virtual in tests.
class Clock {
 public:
  explicit Clock(const rmgr_clock_service* service) noexcept : service_(service) {}
  // Since 1970 UTC.
  [[nodiscard]] Millis wall() const { return Millis{get().wall_ms(get().ctx)}; }
  // Since boot, suspend included.
  [[nodiscard]] Millis boot() const { return Millis{get().boot_ms(get().ctx)}; }
  // Throws `cancelled` or `deadline` if the call should end first.
  void sleep(const Call& call, Millis duration) const {
    detail::Explanation why;
    why.expect_ok(get().sleep_ms(get().ctx, call.abi(), duration.count()), "Waiting");
  }

 private:
  [[nodiscard]] const rmgr_clock_service& get() const {
    return detail::require(service_, RMGR_SERVICE_CLOCK);
  }
  const rmgr_clock_service* service_;
};

// Resolves references of the configuration (file:PATH, env:NAME, credential:NAME) anew at each use.
class Secrets {
 public:
  explicit Secrets(const rmgr_secrets_service* service) noexcept : service_(service) {}
  // Hands the value to `use` and wipes it afterwards. What `use` throws arrives here as an Error.
  void with_secret(std::string_view reference, const std::function<void(SecretView)>& use) const {
    const rmgr_secrets_service& service = detail::require(service_, RMGR_SERVICE_SECRETS);
    detail::Explanation why;
    Use context{&use, why.abi()};
    why.expect_ok(service.with_secret(service.ctx, to_abi(reference), &Secrets::run, &context, why.abi()),
                  "Reading a secret");
  }

 private:
  struct Use {
    const std::function<void(SecretView)>* fn;
    const rmgr_error* error;
  };
  static rmgr_status RMGR_CALL run(void* arg, rmgr_secret value) noexcept {
    const Use& use = *static_cast<Use*>(arg);
    return detail::guard(use.error, [&] { (*use.fn)(SecretView(value)); });
  }
  const rmgr_secrets_service* service_;
};

// A small durable map of this instance: together at most 64 KiB, keys of 1 to 128 bytes.
class Kv {
 public:
  explicit Kv(const rmgr_kv_service* service) noexcept : service_(service) {}
  [[nodiscard]] std::optional<std::string> get(std::string_view key) const {
    detail::TextItems value;
    const rmgr_status status = self().get(self().ctx, to_abi(key), value.abi());
    if (status == RMGR_E_NOT_FOUND) return std::nullopt;
    detail::Explanation{}.expect_ok(status, "Reading a stored value");
    if (value.items().empty()) return std::nullopt;
    return std::move(value.items().front());
  }
  // On the disk when it returns.
  void put(std::string_view key, std::string_view value) const {
    detail::Explanation{}.expect_ok(self().put(self().ctx, to_abi(key), to_abi(value)), "Storing a value");
  }
  // Nothing happens if there is no such key.
  void remove(std::string_view key) const {
    const rmgr_status status = self().remove(self().ctx, to_abi(key));
    if (status != RMGR_E_NOT_FOUND) detail::Explanation{}.expect_ok(status, "Removing a stored value");
  }
  // Every key that begins with `prefix`.
  [[nodiscard]] std::vector<std::string> list(std::string_view prefix) const {
    detail::TextItems keys;
    detail::Explanation{}.expect_ok(self().list(self().ctx, to_abi(prefix), keys.abi()),
                                    "Listing stored values");
    return std::move(keys.items());
  }

 private:
  [[nodiscard]] const rmgr_kv_service& self() const { return detail::require(service_, RMGR_SERVICE_KV); }
  const rmgr_kv_service* service_;
};

// A directory (0700) of this instance alone, made at the first call; what is in it survives a restart.
class WorkDirectory {
 public:
  explicit WorkDirectory(const rmgr_work_directory_service* service) noexcept : service_(service) {}
  [[nodiscard]] std::string path() const {
    const rmgr_work_directory_service& service = detail::require(service_, RMGR_SERVICE_WORK_DIRECTORY);
    detail::TextItems path;
    detail::Explanation why;
    why.expect_ok(service.path(service.ctx, path.abi(), why.abi()), "Making the work directory");
    if (path.items().empty()) throw Error(Status::internal, "The host named no work directory.");
    return std::move(path.items().front());
  }

 private:
  const rmgr_work_directory_service* service_;
};

// For assertions: does the calling thread run a call of this instance right now?
class ThreadCheck {
 public:
  explicit ThreadCheck(const rmgr_thread_check_service* service) noexcept : service_(service) {}
  [[nodiscard]] bool in_call() const {
    const rmgr_thread_check_service& service = detail::require(service_, RMGR_SERVICE_THREAD_CHECK);
    return service.in_call(service.ctx) != 0;
  }

 private:
  const rmgr_thread_check_service* service_;
};

// Names one process for ever: a pid alone may be reused.
struct ProcessIdentity {
  std::int64_t pid = 0;
  std::uint64_t start_token = 0;
  std::string boot_id;
  bool operator==(const ProcessIdentity&) const = default;
};

// The view lives as long as `identity`.
[[nodiscard]] inline rmgr_process_identity to_abi(const ProcessIdentity& identity) noexcept {
  return {detail::size_of<rmgr_process_identity>(), 0, identity.pid, identity.start_token,
          to_abi(identity.boot_id)};
}
[[nodiscard]] inline ProcessIdentity from_abi(const rmgr_process_identity& identity) {
  return {identity.pid, identity.start_token, std::string(from_abi(identity.boot_id))};
}

// See rmgr_resource_limit.
struct ResourceLimit {
  std::string name;
  std::uint64_t value = 0;
  bool operator==(const ResourceLimit&) const = default;
};

// See rmgr_private_directory.
struct PrivateDirectory {
  std::string target;
  std::string backing;  // empty: one in memory
  bool operator==(const PrivateDirectory&) const = default;
};

struct ProcessSpec {
  std::string key;                       // names the exit record and the cgroup: the attempt id
  std::vector<std::string> argv;         // argv[0] is an absolute path
  std::vector<std::string> environment;  // KEY=VALUE; the whole environment
  std::string directory;
  std::optional<std::uint32_t> uid;  // none: the daemon's own account
  std::optional<std::uint32_t> gid;
  // The whole tree is killed this long after its start, whether a daemon runs or not. Zero: never. At most 49
  // days.
  Millis time_limit{0};
  // What contains the tree; what cannot be enforced refuses the process. 0 and empty: nothing is asked for.
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t pids = 0;
  std::int32_t nice = 0;  // 0: as the daemon
  bool no_new_privileges = false;
  std::vector<ResourceLimit> resource_limits;
  std::vector<std::string> hidden_directories;
  std::vector<PrivateDirectory> private_directories;
};

// What the process service can do on this machine.
struct ProcessAbilities {
  bool group = false;  // nothing of a tree leaves its group, and all of it ends at once
  bool limit_cpu = false, limit_memory = false, limit_pids = false;
  bool change_account = false;
  bool arrange_directories = false;  // hidden and private ones
};
[[nodiscard]] inline ProcessAbilities abilities_from(std::uint32_t bits) noexcept {
  const auto has = [bits](std::uint32_t bit) { return (bits & bit) != 0; };
  return {has(RMGR_PROCESS_CAN_GROUP),          has(RMGR_PROCESS_CAN_LIMIT_CPU),
          has(RMGR_PROCESS_CAN_LIMIT_MEMORY),   has(RMGR_PROCESS_CAN_LIMIT_PIDS),
          has(RMGR_PROCESS_CAN_CHANGE_ACCOUNT), has(RMGR_PROCESS_CAN_ARRANGE_DIRECTORIES)};
}
[[nodiscard]] inline std::uint32_t to_abi(const ProcessAbilities& able) noexcept {
  return (able.group ? RMGR_PROCESS_CAN_GROUP : 0) | (able.limit_cpu ? RMGR_PROCESS_CAN_LIMIT_CPU : 0) |
         (able.limit_memory ? RMGR_PROCESS_CAN_LIMIT_MEMORY : 0) |
         (able.limit_pids ? RMGR_PROCESS_CAN_LIMIT_PIDS : 0) |
         (able.change_account ? RMGR_PROCESS_CAN_CHANGE_ACCOUNT : 0) |
         (able.arrange_directories ? RMGR_PROCESS_CAN_ARRANGE_DIRECTORIES : 0);
}

enum class ProcessStatus : std::int32_t {
  prepared = RMGR_PROCESS_PREPARED,  // held at the gate
  running = RMGR_PROCESS_RUNNING,
  exited = RMGR_PROCESS_EXITED,    // an exit record exists and nothing of the tree is left
  missing = RMGR_PROCESS_MISSING,  // gone, and it never ran
};
struct ProcessState {
  ProcessStatus status = ProcessStatus::missing;
  std::int32_t exit_code = 0;  // valid when exited and signal is 0
  std::int32_t signal = 0;     // the signal that ended the main child, 0 if none
  bool out_of_memory = false;
};

// Held children that outlive the daemon. See abi/host.h for the whole contract.
class Process {
 public:
  explicit Process(const rmgr_process_service* service) noexcept : service_(service) {}

  // Starts a supervisor that waits at a gate; nothing of `spec` runs yet.
  [[nodiscard]] ProcessIdentity spawn_held(const Call& call, const ProcessSpec& spec) const {
    const std::vector<rmgr_str> argv = detail::views(spec.argv);
    const std::vector<rmgr_str> environment = detail::views(spec.environment);
    rmgr_process_spec abi{};
    abi.struct_size = detail::size_of<rmgr_process_spec>();
    abi.time_limit_ms = static_cast<std::uint32_t>(spec.time_limit.count());
    abi.key = to_abi(spec.key);
    abi.argv = argv.data();
    abi.argc = argv.size();
    abi.environment = environment.data();
    abi.environment_count = environment.size();
    abi.directory = to_abi(spec.directory);
    abi.uid = spec.uid ? std::int64_t{*spec.uid} : -1;
    abi.gid = spec.gid ? std::int64_t{*spec.gid} : -1;
    abi.cpu_milli = spec.cpu_milli;
    abi.memory_bytes = spec.memory_bytes;
    abi.pids = spec.pids;
    abi.nice = spec.nice;
    abi.flags = spec.no_new_privileges ? RMGR_PROCESS_NO_NEW_PRIVILEGES : 0;
    std::vector<rmgr_resource_limit> limits;
    for (const ResourceLimit& limit : spec.resource_limits)
      limits.push_back({detail::size_of<rmgr_resource_limit>(), 0, to_abi(limit.name), limit.value});
    abi.resource_limits = limits.data();
    abi.resource_limit_count = limits.size();
    const std::vector<rmgr_str> hidden = detail::views(spec.hidden_directories);
    abi.hidden_directories = hidden.data();
    abi.hidden_directory_count = hidden.size();
    std::vector<rmgr_private_directory> own;
    for (const PrivateDirectory& directory : spec.private_directories)
      own.push_back({detail::size_of<rmgr_private_directory>(), 0, to_abi(directory.target),
                     to_abi(directory.backing)});
    abi.private_directories = own.data();
    abi.private_directory_count = own.size();
    std::optional<ProcessIdentity> identity;
    const rmgr_identity_sink sink{detail::size_of<rmgr_identity_sink>(), 0, &identity,
                                  &Process::take_identity};
    detail::Explanation why;
    why.expect_ok(self().spawn_held(self().ctx, call.abi(), &abi, &sink, why.abi()),
                  "Starting a held process");
    if (!identity) throw Error(Status::internal, "The host reported no identity of a held process.");
    return *identity;
  }

  // Returns once the child executed. Throws `invalid` if it could not (nothing ran); after any other error a
  // process may have existed. At most once for each key.
  void release(const Call& call, std::string_view key, const ProcessIdentity& identity,
               std::string_view secret_name, SecretView secret) const {
    const rmgr_process_identity who = to_abi(identity);
    detail::Explanation why;
    why.expect_ok(self().release(self().ctx, call.abi(), to_abi(key), &who, to_abi(secret_name), secret.abi(),
                                 why.abi()),
                  "Releasing a held process");
  }

  // Throws `retry` when the state cannot be proven.
  [[nodiscard]] ProcessState inspect(const Call& call, std::string_view key,
                                     const ProcessIdentity& identity) const {
    const rmgr_process_identity who = to_abi(identity);
    rmgr_process_state state{};
    state.struct_size = detail::size_of<rmgr_process_state>();
    detail::Explanation why;
    why.expect_ok(self().inspect(self().ctx, call.abi(), to_abi(key), &who, &state, why.abi()),
                  "Looking at a process");
    if (state.state < RMGR_PROCESS_PREPARED || state.state > RMGR_PROCESS_MISSING)
      throw Error(Status::internal, "The host reported a process state that this plugin does not know.");
    return {static_cast<ProcessStatus>(state.state), state.exit_code, state.signal, state.out_of_memory != 0};
  }

  // Asks the tree to end, waits `grace`, kills what is left. Throws `busy` when something still runs.
  void stop(const Call& call, std::string_view key, const ProcessIdentity& identity, Millis grace) const {
    const rmgr_process_identity who = to_abi(identity);
    detail::Explanation why;
    why.expect_ok(self().stop(self().ctx, call.abi(), to_abi(key), &who, grace.count(), why.abi()),
                  "Stopping a process");
  }

  // Removes the exit record and the cgroup of a key whose tree is gone.
  void forget(std::string_view key) const {
    detail::Explanation why;
    why.expect_ok(self().forget(self().ctx, to_abi(key), why.abi()), "Forgetting a process");
  }

  // They do not change while the daemon runs. A host that cannot say has none.
  [[nodiscard]] ProcessAbilities abilities() const {
    const bool says = service_ != nullptr && RMGR_HAS(service_, rmgr_process_service, abilities);
    return says ? abilities_from(service_->abilities(service_->ctx)) : ProcessAbilities{};
  }

 private:
  static rmgr_status RMGR_CALL take_identity(void* ctx, const rmgr_process_identity* identity) noexcept {
    return detail::guard(nullptr,
                         [&] { *static_cast<std::optional<ProcessIdentity>*>(ctx) = from_abi(*identity); });
  }
  [[nodiscard]] const rmgr_process_service& self() const {
    return detail::require(service_, RMGR_SERVICE_PROCESS);
  }
  const rmgr_process_service* service_;
};

// The services of one instance. Cheap to copy.
class Host {
 public:
  explicit Host(const rmgr_instance_host* host) noexcept : host_(host) {}
  // The instance's name in the configuration.
  [[nodiscard]] std::string_view name() const noexcept { return from_abi(host_->name); }
  [[nodiscard]] Log log() const noexcept { return Log(find<rmgr_log_service>(RMGR_SERVICE_LOG)); }
  [[nodiscard]] Clock clock() const noexcept { return Clock(find<rmgr_clock_service>(RMGR_SERVICE_CLOCK)); }
  [[nodiscard]] Secrets secrets() const noexcept {
    return Secrets(find<rmgr_secrets_service>(RMGR_SERVICE_SECRETS));
  }
  [[nodiscard]] Kv kv() const noexcept { return Kv(find<rmgr_kv_service>(RMGR_SERVICE_KV)); }
  [[nodiscard]] WorkDirectory work_directory() const noexcept {
    return WorkDirectory(find<rmgr_work_directory_service>(RMGR_SERVICE_WORK_DIRECTORY));
  }
  [[nodiscard]] ThreadCheck thread_check() const noexcept {
    return ThreadCheck(find<rmgr_thread_check_service>(RMGR_SERVICE_THREAD_CHECK));
  }
  [[nodiscard]] Process process() const noexcept {
    return Process(find<rmgr_process_service>(RMGR_SERVICE_PROCESS));
  }
  // A service that this layer does not wrap; null if this host does not offer it.
  template <class Service>
  [[nodiscard]] const Service* find(const char* id) const noexcept {
    return static_cast<const Service*>(host_->get_service(host_->ctx, id));
  }

 private:
  const rmgr_instance_host* host_;
};

}  // namespace rmgr
