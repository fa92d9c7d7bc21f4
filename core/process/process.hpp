// Held children that outlive the daemon: the host side of rmgr-shim.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/attempt.hpp"
#include "process/cgroup_places.hpp"

namespace agent::process {

using domain::ProcessIdentity;
using domain::Result;

struct Options {
  std::string shim;              // absolute path of rmgr-shim
  std::string record_directory;  // 0700, ours: <key>/exit lives here
  CgroupPlaces cgroups;          // where each key gets groups; empty: process groups only, and no limits
  domain::Millis gate_timeout{30'000};
};

// Of the whole tree of a key. 0: none.
struct Limits {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t pids = 0;
  [[nodiscard]] bool any() const { return cpu_milli != 0 || memory_bytes != 0 || pids != 0; }
  bool operator==(const Limits&) const = default;
};

// Of each process of the tree; see resource_of for the names.
struct ResourceLimit {
  std::string name;
  std::uint64_t value = 0;
};

struct PrivateDirectory {
  std::string target;
  std::string backing;  // empty: one in memory
};

// See rmgr_process_spec.
struct Spec {
  std::string key;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string directory;
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  domain::Millis time_limit{0};  // then the shim kills the whole tree; 0: never
  Limits limits;
  int nice = 0;  // 0: as this daemon
  std::vector<ResourceLimit> resource_limits;
  std::vector<std::string> hidden_directories;
  std::vector<PrivateDirectory> private_directories;
  bool no_new_privileges = false;
};

// What this daemon can do to a tree on this machine; it does not change while it runs.
struct Abilities {
  bool groups = false;  // nothing leaves the tree's cgroup
  bool limit_cpu = false, limit_memory = false, limit_pids = false;
  bool accounts = false;     // run as somebody else
  bool directories = false;  // hidden and private directories
};

enum class Phase { prepared, running, exited, missing };
struct State {
  Phase phase = Phase::missing;
  int exit_code = 0;
  int signal = 0;
  bool out_of_memory = false;
};

// Asked now and then by waits; true ends them early.
using Cancelled = std::function<bool()>;

// Thread-safe; every call may block for as long as its comment says.
class ProcessHost {
 public:
  // `on_exit` is a hint that the process of a key ended; it comes from a thread of this object.
  static Result<std::unique_ptr<ProcessHost>> create(Options options,
                                                     std::function<void(std::string key)> on_exit);
  virtual ~ProcessHost() = default;

  // Starts the shim at its gate; blocks until it reported that it is there.
  virtual Result<ProcessIdentity> spawn_held(const Spec& spec) = 0;
  // Sends the secret; blocks until the child executed. invalid: it could not execute and nothing ran. Any
  // other error: it may have run. not_found: this daemon holds no gate for the key (nothing ran).
  virtual Result<void> release(std::string_view key, const ProcessIdentity& identity,
                               std::string_view secret_name, std::string_view secret,
                               domain::Millis timeout) = 0;
  // An error when the state cannot be proven. A key seen running is watched from then on.
  virtual Result<State> inspect(std::string_view key, const ProcessIdentity& identity) = 0;
  // SIGTERM, `grace`, then the whole tree. busy: something still runs. Blocks for `grace` and a little more.
  virtual Result<void> stop(std::string_view key, const ProcessIdentity& identity, domain::Millis grace,
                            const Cancelled& cancelled) = 0;
  // Removes record and cgroups of an ended key.
  virtual Result<void> forget(std::string_view key) = 0;
  [[nodiscard]] virtual Abilities abilities() const = 0;
};

// The kernel's number for open_files, core, file_size, processes, address_space, data, stack, locked_memory
// or cpu_seconds; nothing for other names.
std::optional<int> resource_of(std::string_view name);

// This boot and the start token of a live pid (field 22 of its stat line, read after the last parenthesis).
Result<domain::BootId> current_boot();
Result<std::uint64_t> start_token(std::int64_t pid);

}  // namespace agent::process
