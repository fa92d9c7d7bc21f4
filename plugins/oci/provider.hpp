// Runners in containers of Podman or Docker: one disposable container for each attempt.
#pragma once

#include "oci/engine.hpp"
#include "oci/settings.hpp"
#include "rmgr/execution_provider.hpp"
#include "support/engine/container_provider.hpp"

namespace oci {

// The engine and the labels of what it holds are the only memory that counts; nothing here has to survive a
// crash, and what waits for a job must not.
class Provider final : public plugins::engine::ContainerProvider, public rmgr::WarmStart {
 public:
  static constexpr std::uint32_t flags = RMGR_PROVIDER_ISOLATED | RMGR_COMPONENT_CONCURRENT;
  static inline const std::string_view config_schema = settings_schema;

  Provider(rmgr::Host host, std::string_view config);

  rmgr::Probe probe(const rmgr::Call& call, const rmgr::Profile& profile) override;
  std::optional<std::string> resolve(const rmgr::Call& call, const rmgr::Profile& profile) override;
  std::optional<std::string> prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  void start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
             rmgr::StartResult& result) override;
  void warm(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  rmgr::EnvironmentState inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  void remove(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  std::vector<std::string> diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation) override;

 private:
  using Sandboxes = plugins::engine::Sandboxes;
  Sandboxes sandboxes(const rmgr::Call& call) override { return Sandboxes(engine_.connect(call)); }
  std::string join_network(const rmgr::Call& call, const Sandboxes& sandboxes,
                           const rmgr::Allocation& allocation) const;
  void copy_package(const rmgr::Call& call, const Sandboxes& sandboxes, const rmgr::Allocation& allocation,
                    const std::string& id) const;

  Settings settings_;
  Engine engine_;
  plugins::engine::Images images_;
  plugins::engine::Waiting waiting_;
};

}  // namespace oci
