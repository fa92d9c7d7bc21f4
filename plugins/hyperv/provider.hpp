// Runners in Windows containers that Hyper-V isolates: one disposable container for each attempt.
#pragma once

#include "hyperv/engine.hpp"
#include "hyperv/machine.hpp"
#include "hyperv/settings.hpp"
#include "rmgr/execution_provider.hpp"
#include "support/engine/container_provider.hpp"

namespace hyperv {

// The engine and the labels of what it holds are the only memory; nothing here has to survive a crash.
class Provider final : public plugins::engine::ContainerProvider {
 public:
  static constexpr std::uint32_t flags = RMGR_PROVIDER_ISOLATED | RMGR_COMPONENT_CONCURRENT;
  static inline const std::string_view config_schema = settings_schema;

  Provider(rmgr::Host host, std::string_view config);
  Provider(rmgr::Host host, std::string_view config, Machine::Look look);

  rmgr::Probe probe(const rmgr::Call& call, const rmgr::Profile& profile) override;
  std::optional<std::string> resolve(const rmgr::Call& call, const rmgr::Profile& profile) override;
  std::optional<std::string> prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  void start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
             rmgr::StartResult& result) override;
  rmgr::EnvironmentState inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  std::vector<std::string> diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation) override;

 private:
  using Sandboxes = plugins::engine::Sandboxes;
  Sandboxes sandboxes(const rmgr::Call& call) override { return Sandboxes(engine_.connect(call)); }
  void fill(const rmgr::Call& call, const Sandboxes& sandboxes, const rmgr::Allocation& allocation,
            const std::string& id) const;

  Settings settings_;
  Machine machine_;
  Engine engine_;
  plugins::engine::Images images_;
};

}  // namespace hyperv
