// One agent under test: its configuration file, its process, and what it says of itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/accounts.hpp"

namespace testkit {

struct PolicySpec {
  std::string name = "demo";
  std::string target = "acme/widgets";
  std::vector<std::string> labels = {"demo"};
  int min = 0;
  int max = 10;
  int warm = 0;
  std::string workspace = {};                                      // empty: the default
  std::vector<std::pair<std::string, std::string>> timeouts = {};  // name, duration
  std::vector<std::pair<std::string, std::string>> profile = {};   // name, limit
};

struct AgentSetup {
  std::string directory;     // state, runtimes and the configuration are made below it
  std::string bin;           // where runner-manager is
  std::string plugins;       // the plugin directory
  std::string more_plugins;  // another one; empty: none
  std::string provider = "native";
  std::string provider_config;  // YAML flow mapping; empty: job accounts if root, else the shared account
  std::string provider_more;    // what follows the accounts in it, from a comma on
  std::string github_url;
  std::string token;
  std::string credential;  // YAML of the plugin's credential; empty: the token from a file
  int capacity = 2;
  std::string poll = "200ms";
  std::string mirror;  // a directory of packages; empty: packages come from GitHub
  std::string drain_timeout = "60s";
  std::vector<PolicySpec> policies = {PolicySpec{}};
  std::vector<std::string> environment;  // NAME=value, of the daemon alone
};

// One row of `attempts --json`, as far as tests ask.
struct AttemptView {
  std::string id, policy, state, outcome, reason, pending;
  std::int64_t pid = 0;
  std::optional<std::int64_t> exit_code;
  bool clean_exit = false;
  bool owes_deregistration = false;
  bool out_of_memory = false;
  std::int64_t demand_seen_ms = 0, package_acquired_ms = 0, materialized_ms = 0, prepared_ms = 0,
               registered_ms = 0, held_ms = 0, started_ms = 0;
};

struct PolicyView {
  std::string name, limited_by, remedy, note;
  std::int64_t queued = 0, busy = 0, active = 0, waiting = 0;
};

// What is left of attempts, as the agent's own records and the machine show it.
struct Leftovers {
  int registrations = 0, processes = 0, directories = 0, leases = 0, cgroups = 0;
  int containers = 0, volumes = 0, networks = 0;  // of an engine, where there is one
  [[nodiscard]] int sum() const {
    return registrations + processes + directories + leases + cgroups + containers + volumes + networks;
  }
};

class Agent {
 public:
  // Writes the configuration and the token file; starts nothing.
  explicit Agent(AgentSetup setup);
  ~Agent();  // kills the daemon if it still runs; runners are ended by their shims' own pids
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  [[nodiscard]] std::string state() const { return setup_.directory + "/state"; }
  [[nodiscard]] std::string runtimes() const { return setup_.directory + "/runtimes"; }
  [[nodiscard]] std::string config_file() const { return setup_.directory + "/config.yaml"; }
  [[nodiscard]] std::string log_file() const { return setup_.directory + "/daemon.log"; }

  // Starts `runner-manager run` and waits until it answers on its control socket.
  bool start(std::chrono::milliseconds limit = std::chrono::seconds(30));
  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill_hard();            // SIGKILL and reaped
  [[nodiscard]] bool ended();  // it is reaped then
  // Of the next start.
  void set_environment(std::vector<std::string> environment) { setup_.environment = std::move(environment); }
  std::optional<int> terminate(
      std::chrono::milliseconds limit = std::chrono::seconds(90));  // SIGTERM; its exit code

  [[nodiscard]] std::vector<AttemptView> attempts() const;  // all, newest first
  [[nodiscard]] std::vector<AttemptView> live_attempts() const;
  [[nodiscard]] std::vector<PolicyView> policies() const;
  [[nodiscard]] std::string status_json() const;
  // Without registrations, which the emulator knows.
  [[nodiscard]] Leftovers leftovers() const;
  // Directories of this installation in any cgroup hierarchy, which a clean end with no attempts leaves none
  // of.
  [[nodiscard]] std::vector<std::string> cgroup_directories() const;
  [[nodiscard]] std::int64_t peak_rss_bytes() const;

 private:
  void write_configuration() const;
  AgentSetup setup_;
  AccountRange accounts_;
  mutable std::string installation_;  // as `status` said once
  pid_t pid_ = -1;
};

// Runs a program to its end; its standard output. `exit_code` may be null.
std::string run_program(const std::vector<std::string>& argv, int* exit_code);
// The same of one that must end with 0; throws std::runtime_error of `what` otherwise.
std::string must_run(const std::vector<std::string>& argv, const std::string& what);

}  // namespace testkit
