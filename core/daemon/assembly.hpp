// The parts of a running agent in the order in which they are made; they are unmade in reverse.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "daemon/daemon_world.hpp"
#include "daemon/quarantine.hpp"
#include "daemon/services.hpp"
#include "journal/journal.hpp"
#include "observe/log.hpp"
#include "reconcile/engine.hpp"

namespace agent::daemon {

// Why the agent does not start: one sentence for the operator, and the exit code.
struct StartRefusal {
  int exit_code = 1;
  std::string message;
};

struct AssemblyInput {
  const config::Configuration* configuration = nullptr;
  std::string program_directory;
  std::function<void(std::function<void()>)> post;  // onto the loop thread, from any thread
  std::function<bool()> on_loop_thread;
};

class Assembly {
 public:
  explicit Assembly(observe::Log& log) : log_(log) {}
  ~Assembly();
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  // Nothing when everything stands; called once, on the loop thread.
  std::optional<StartRefusal> start(const AssemblyInput& input);
  // Ends what still runs in lanes, so that no answer reaches what is destroyed next. False if a call did not
  // come back: its thread runs on, so the program must end without destroying anything.
  bool shut_down();

  // The policies with what only their providers' libraries know, or why one of them cannot run.
  [[nodiscard]] domain::Result<std::vector<domain::Policy>> resolve(
      std::vector<domain::Policy> policies) const;

  [[nodiscard]] reconcile::Engine& engine() const { return *engine_; }
  [[nodiscard]] journal::Journal& journal() const { return *journal_; }
  [[nodiscard]] plugin::PluginHost& plugins() const { return *plugins_; }
  Quarantine& quarantine() { return *quarantine_; }
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

 private:
  std::optional<StartRefusal> open_state(const AssemblyInput& input);
  std::optional<StartRefusal> load_plugins(const AssemblyInput& input);
  std::optional<StartRefusal> start_engine(const AssemblyInput& input);

  observe::Log& log_;
  std::vector<std::string> notices_;
  std::optional<std::string> reserve_missing_;  // at the start, because the disk was full, and the reason
  domain::BootId boot_;
  std::unique_ptr<journal::StateLock> lock_;
  std::unique_ptr<journal::Journal> journal_;
  std::unique_ptr<process::ProcessHost> processes_;
  std::unique_ptr<Quarantine> quarantine_;
  std::unique_ptr<KvBridge> kv_;
  std::unique_ptr<ProcessBridge> process_bridge_;
  std::unique_ptr<package::Cache> cache_;
  lifecycle::Vault vault_;
  std::unique_ptr<plugin::PluginHost> plugins_;
  std::unique_ptr<lifecycle::Performer> performer_;
  std::unique_ptr<DaemonWorld> world_;
  std::unique_ptr<reconcile::Engine> engine_;
};

}  // namespace agent::daemon
