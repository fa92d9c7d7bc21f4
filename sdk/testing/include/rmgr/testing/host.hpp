// A host for the tests of a plugin: loads it, makes instances, calls them, and watches over the contract.
//
//   rmgr::testing::Host host;
//   rmgr::testing::Provider provider = host.load(rmgr_plugin_entry).provider("runners", R"({"nice": 5})");
//   rmgr::testing::Attempt attempt = host.attempt();
//   assert(provider.prepare(attempt).ok());
//   assert(host.violations().empty());
//
// It needs no daemon, no test framework and nothing but the C++ standard library and POSIX. It does not check
// a configuration against the schema and fills in no defaults: hand over what the real host would.
#pragma once

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers) mkdtemp
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmgr/testing/gateway.hpp"
#include "rmgr/testing/package_source.hpp"
#include "rmgr/testing/provider.hpp"

namespace rmgr::testing {

// A loaded plugin; copies are the same. `deinit` runs when the last copy and the last instance are gone.
class Plugin {
 public:
  explicit Plugin(std::shared_ptr<detail::Library> library) : library_(std::move(library)) {}
  [[nodiscard]] std::string id() const { return library_->descriptor().id; }
  [[nodiscard]] std::string version() const { return library_->descriptor().version; }
  [[nodiscard]] std::vector<std::string> interfaces() const {
    std::vector<std::string> ids;
    for (const char* const* id = library_->descriptor().interfaces; *id != nullptr; ++id)
      ids.emplace_back(*id);
    return ids;
  }
  [[nodiscard]] std::string config_schema(const char* interface) const {
    return std::string(from_abi(library_->component(interface).config_schema()));
  }
  // Throw rmgr::Error with what the plugin said when it refuses. `name` is the instance's in the
  // configuration.
  [[nodiscard]] Provider provider(const std::string& name, const std::string& config_json) const {
    return {library_, name, config_json};
  }
  [[nodiscard]] Gateway gateway(const std::string& name, const std::string& config_json) const {
    return {library_, name, config_json};
  }
  [[nodiscard]] PackageSource package_source(const std::string& name, const std::string& config_json) const {
    return {library_, name, config_json};
  }

 private:
  std::shared_ptr<detail::Library> library_;
};

struct HostOptions {
  std::shared_ptr<Processes> processes;      // null: a script, see Host::scripted_processes
  std::uint16_t abi_major = RMGR_ABI_MAJOR;  // what the host claims to be
  std::uint16_t abi_minor = RMGR_ABI_MINOR;
};

// Outlives everything that was loaded through it. Thread-safe but for its construction and end.
class Host {
 public:
  explicit Host(const HostOptions& options = {})
      : world_(std::make_shared<detail::World>()), script_(std::make_shared<ScriptedProcesses>()) {
    world_->processes = options.processes ? options.processes : script_;
    world_->abi_major = options.abi_major;
    world_->abi_minor = options.abi_minor;
    std::string path = (std::filesystem::temp_directory_path() / "rmgr-testing-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      throw Error(Status::internal, "A test directory could not be made.");
    world_->root = path;
  }
  ~Host() {
    std::error_code ignored;
    std::filesystem::remove_all(world_->root, ignored);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // A plugin that is linked into this program, or a library on the disk. Throws rmgr::Error when it is
  // refused.
  [[nodiscard]] Plugin load(const rmgr_plugin_entry_t& entry) const {
    return Plugin(std::make_shared<detail::Library>(world_, entry));
  }
  [[nodiscard]] Plugin load(const std::string& path) const { return load(detail::entry_of_file(path)); }

  // --- what is behind the services
  [[nodiscard]] VirtualClock& clock() { return world_->clock; }
  [[nodiscard]] ScriptedProcesses& scripted_processes() { return *script_; }
  // From now on `reference` resolves to this value, which may stand in no text that leaves the plugin.
  void set_secret(const std::string& reference, const std::string& value) {
    world_->record.know_secret(value);
    const std::lock_guard lock(world_->mutex);
    world_->secrets[reference] = value;
  }
  // The host does not offer this service any more, for example RMGR_SERVICE_KV.
  void withhold(const std::string& service) {
    const std::lock_guard lock(world_->mutex);
    world_->withheld.insert(service);
  }
  // The stored values of an instance; they survive it, as they would a restart.
  [[nodiscard]] std::map<std::string, std::string> kv(const std::string& instance) const {
    const std::lock_guard lock(world_->mutex);
    const auto found = world_->kv.find(instance);
    return found == world_->kv.end() ? std::map<std::string, std::string>() : found->second;
  }
  // Of all test data; removed when the host ends.
  [[nodiscard]] const std::string& directory() const { return world_->root; }

  // --- what came of it
  [[nodiscard]] std::vector<LogLine> log_lines() const { return world_->record.log_lines(); }
  // One sentence for each broken rule, beginning with the operation. Empty if the plugin behaved.
  [[nodiscard]] std::vector<std::string> violations() const { return world_->record.violations(); }
  [[nodiscard]] std::vector<std::string> take_violations() { return world_->record.take_violations(); }

  // --- attempts
  // A new attempt of this host, with a runtime directory in which bin/Runner.Listener is `script`.
  [[nodiscard]] Attempt attempt(const std::string& script = "#!/bin/sh\nexit 0\n") {
    const std::string number = std::to_string(++attempts_);
    const std::string digits = std::string(12 - number.size(), '0') + number;
    Attempt made;
    made.host = "0b4f6c1e-5a3d-4a41-9f0e-3d5c1f4f2a10";
    made.attempt = "7d1c2b3a-0000-4000-8000-" + digits;
    made.generation = "5eed0000" + std::string(12, 'a') + digits;
    made.policy = "test";
    made.runner_name = "runner-manager-" + made.attempt;
    made.runtime = directory() + "/runtime-" + number;
    made.package = made.runtime;
    std::filesystem::create_directories(made.runtime + "/bin");
    const std::string listener = made.runtime + "/bin/Runner.Listener";
    std::ofstream(listener) << script;
    if (::chmod(listener.c_str(), 0755) != 0)
      throw Error(Status::internal, "The test's listener could not be made executable.");
    return made;
  }
  // The same attempt, minted anew: what belonged to the old generation is not this one's.
  [[nodiscard]] static Attempt next_generation(Attempt attempt) {
    attempt.generation.replace(0, 8, "5eed1111");
    attempt.environment.clear();
    attempt.process.reset();
    return attempt;
  }

 private:
  std::shared_ptr<detail::World> world_;
  std::shared_ptr<ScriptedProcesses> script_;
  int attempts_ = 0;
};

}  // namespace rmgr::testing
