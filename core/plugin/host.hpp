// Discovers, checks and loads plugin libraries, and owns their instances. Libraries are never unloaded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/ids.hpp"
#include "observe/log.hpp"
#include "plugin/components.hpp"
#include "plugin/lane.hpp"
#include "plugin/version.hpp"

namespace agent::plugin {

enum class ComponentKind { execution_provider, package_source, gateway };
std::string_view to_string(ComponentKind kind);
const char* interface_of(ComponentKind kind);

// What a manifest says, before any code of the library ran.
struct Manifest {
  std::string id, version, library, platform;
  int abi_major = 0, abi_minor = 0;
  std::vector<std::string> interfaces;
};

struct Discovered {
  std::string path;  // absolute, of the library
  Manifest manifest;
  std::optional<std::string> refusal;  // why it cannot be used: one sentence with a remedy
};

// What plugins are offered beside log, clock, thread check and secrets, which the host implements itself.
class KvPort {
 public:
  virtual ~KvPort() = default;  // may be called from any lane thread; durable when it returns
  virtual Result<std::optional<std::string>> get(const domain::InstanceName&, std::string_view key) = 0;
  virtual Result<void> put(const domain::InstanceName&, std::string_view key, std::string_view value) = 0;
  virtual Result<void> remove(const domain::InstanceName&, std::string_view key) = 0;
  virtual Result<std::vector<std::string>> list(const domain::InstanceName&, std::string_view prefix) = 0;
};

struct ProcessRequest {
  std::string key;
  std::vector<std::string> argv, environment;
  std::string directory;
  std::optional<std::uint32_t> uid, gid;
  domain::Millis time_limit{0};  // 0: none
  std::int64_t cpu_milli = 0, memory_bytes = 0, pids = 0;
  int nice = 0;
  bool no_new_privileges = false;
  std::vector<std::pair<std::string, std::uint64_t>> resource_limits;  // name, value
  std::vector<std::string> hidden_directories;
  std::vector<std::pair<std::string, std::string>> private_directories;  // target, backing
};
struct ProcessAbilities {
  bool group = false, limit_cpu = false, limit_memory = false, limit_pids = false, change_account = false,
       arrange_directories = false;
};
class ProcessPort {
 public:
  virtual ~ProcessPort() = default;  // any lane thread; the contract is rmgr.process/1
  virtual Result<domain::ProcessIdentity> spawn_held(Call&, const ProcessRequest&) = 0;
  virtual Result<void> release(Call&, std::string_view key, const domain::ProcessIdentity&,
                               std::string_view secret_name, std::string_view secret) = 0;
  virtual Result<EnvironmentState> inspect(Call&, std::string_view key, const domain::ProcessIdentity&,
                                           int& signal) = 0;
  virtual Result<void> stop(Call&, std::string_view key, const domain::ProcessIdentity&,
                            domain::Millis grace) = 0;
  virtual Result<void> forget(std::string_view key) = 0;
  [[nodiscard]] virtual ProcessAbilities abilities() const = 0;
};

// What is known of crashes in earlier runs, called from the thread that loads. Either may be empty.
struct CrashRecord {
  // How often in a row the daemon crashed in a call of that file. Only a look.
  std::function<Result<std::int64_t>(std::string_view digest)> crashes;
  // From here on the file has a part in how this run goes: an instance of it was made.
  std::function<void(std::string_view digest)> in_use;
};

struct HostOptions {
  std::vector<std::string> directories;
  std::string work_directory;  // parent of the instances' own directories
  KvPort* kv = nullptr;
  ProcessPort* process = nullptr;
  CrashRecord record;
  AbiVersion abi;                // tests only: the version that this host claims to offer
  bool trust_any_owner = false;  // tests only: skip the owner and mode checks
  std::string checker;  // rmgr-plugin-check: loads each new library in a child first; empty: no such check
  domain::Millis checker_patience{20'000};
  LaneOptions lane;                    // of every lane; name and threads are the host's
  std::size_t concurrent_threads = 4;  // of each lane of a component that declares itself concurrent
};

struct InstanceSpec {
  domain::InstanceName name;
  ComponentKind kind = ComponentKind::execution_provider;
  std::string plugin;                 // id in the manifest
  std::string config_json;            // the instance's subtree
  std::optional<std::string> sha256;  // pin
  bool required = false;
};

struct InstanceStatus {
  domain::InstanceName name;
  ComponentKind kind = ComponentKind::execution_provider;
  std::string plugin, version;
  bool ready = false;
  bool stuck = false;
  std::string refusal;  // when not ready
};

class PluginHost {
 public:
  PluginHost(HostOptions options, observe::Log& log);
  ~PluginHost();  // lanes, then instances, then deinit of each library; nothing is unloaded. A call that does
                  // not come back keeps its own instance and library until it does, but loses kv, process and
                  // log

  // Reads manifests and checks owner, mode and platform; runs no code of a plugin.
  [[nodiscard]] std::vector<Discovered> discover() const;

  // Loads the library if need be and creates the instance. The reason of a failure also stands in status().
  // Runs code of the plugin on the calling thread (init, create), and may block for `checker_patience`.
  // invalid: configuration, name or pin; not_found: no such plugin. All calls of a host come from one thread,
  // its lanes excepted.
  Result<void> add_instance(const InstanceSpec& spec);
  [[nodiscard]] std::vector<InstanceStatus> status() const;

  // Null if there is no such ready instance of that kind. The pointer lives as long as the host.
  ExecutionProvider* provider(const domain::InstanceName& name);
  PackageSource* package_source(const domain::InstanceName& name);
  Gateway* gateway(const domain::InstanceName& name);
  // The lanes of an instance; null if it is not ready. They live as long as the host.
  Lane* ordinary_lane(const domain::InstanceName& name);
  Lane* control_lane(const domain::InstanceName& name);

  // Closes all lanes without waiting; calls that come later are answered `cancelled`.
  void close_lanes();
  // Waits for every lane as Lane::finish does, all at the same time. No `done` runs after this. True if every
  // call came back; otherwise a thread of a plugin still runs, and what its calls use must not be destroyed.
  bool finish_lanes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace agent::plugin
