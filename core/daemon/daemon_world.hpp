// The engine's world in the daemon: each request goes to a lane, each answer comes back to the loop thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lifecycle/performer.hpp"
#include "observe/log.hpp"
#include "plugin/host.hpp"
#include "plugin/lane.hpp"
#include "reconcile/engine.hpp"
#include "workspace/workspace.hpp"

namespace agent::daemon {

struct WorldOptions {
  std::string state_directory;
  std::vector<std::string> own_directories;  // that no runtime root may overlap
  domain::InstallationId installation;
  domain::BootId boot;
};

class DaemonWorld final : public reconcile::World {
 public:
  // `post` runs a function on the loop thread, soon; it may be called from any thread.
  DaemonWorld(WorldOptions options, lifecycle::Performer& performer, lifecycle::Vault& vault,
              package::Cache& cache, plugin::PluginHost& plugins, observe::Log& log,
              std::function<void(std::function<void()>)> post);
  // The engine that gets the answers; set once, before its first turn.
  void connect(reconcile::Engine& engine) { engine_ = &engine; }
  // Closes all lanes of its own without waiting.
  void close_lanes();
  // Waits for them, all at the same time; answers nothing more after this. True if every call came back.
  bool finish_lanes();

  domain::Instant now() override;
  domain::AttemptId mint_attempt() override;
  domain::Generation mint_generation() override;
  double jitter() override;
  void perform(const reconcile::Effect& effect) override;
  void look(const reconcile::AttemptPointer& attempt, std::uint64_t pass) override;
  void list_inventory(const reconcile::TargetKey& target, std::uint64_t pass) override;
  void ask_demand(const reconcile::TargetKey& target, std::uint64_t pass) override;
  void probe(const domain::Policy& policy) override;
  void drop_secret(const domain::AttemptId& attempt) override;
  void prune_packages(const std::set<domain::PackageDigest>& leased) override;
  void sweep(const std::vector<reconcile::AttemptPointer>& attempts) override;
  void release_reserve() override;
  void restore_reserve() override;

 private:
  // Where an effect runs and how long it may take; the lane is null when its plugin is not ready.
  struct Route {
    plugin::Lane* lane = nullptr;
    domain::Millis deadline{0};
  };
  // The lanes of one root directory: a volume that hangs holds up what is on it and nothing else.
  struct RootLanes {
    std::unique_ptr<plugin::Lane> looking;   // bounded looks at files
    std::unique_ptr<plugin::Lane> cleaning;  // records and removal
  };
  Route route(const reconcile::Effect& effect);
  plugin::Lane* package_lane(const domain::InstanceName& source);
  RootLanes& root_lanes(const std::string& root);
  std::vector<plugin::Lane*> lanes();
  void answer(const reconcile::Effect& effect, lifecycle::Performed performed);
  void read_evidence(plugin::Lane& lane, const reconcile::AttemptPointer& attempt, reconcile::Look look);
  void check_root(plugin::Lane& lane, const domain::Policy& policy,
                  const std::vector<workspace::OtherRoot>& others, const reconcile::ReadinessAnswer& answer);
  void resolve_image(plugin::Lane& files, const domain::Policy& policy,
                     const std::vector<workspace::OtherRoot>& others,
                     const reconcile::ReadinessAnswer& answer);
  void list_sandboxes(const domain::InstanceName& name);
  std::vector<workspace::OtherRoot> other_roots(const domain::Policy& policy) const;

  WorldOptions options_;
  lifecycle::Performer& performer_;
  lifecycle::Vault& vault_;
  package::Cache& cache_;
  plugin::PluginHost& plugins_;
  observe::Log& log_;
  std::function<void(std::function<void()>)> post_;
  reconcile::Engine* engine_ = nullptr;
  // Made and found on the loop thread only; they live as long as this.
  std::map<domain::InstanceName, std::unique_ptr<plugin::Lane>> package_lanes_;
  std::map<std::string, RootLanes> root_lanes_;
  std::unique_ptr<plugin::Lane> turns_;    // package copies, in the order of reservation
  std::unique_ptr<plugin::Lane> pruning_;  // of the package cache, and other care of the state directory
};

// A look whose diagnostics could not be read is no look: a job that ran may have left its proof there.
reconcile::Look complete(reconcile::Look look, const domain::Result<domain::Evidence>& evidence);

}  // namespace agent::daemon
