// Runners in containers of Podman or Docker: one disposable container for each attempt.
#pragma once

#include "oci/engine.hpp"
#include "oci/images.hpp"
#include "oci/settings.hpp"
#include "rmgr/execution_provider.hpp"

namespace oci {

// The engine and the labels of what it holds are the only memory; nothing here has to survive a crash.
class Provider final : public rmgr::ExecutionProvider {
 public:
  static constexpr std::uint32_t flags = RMGR_PROVIDER_ISOLATED | RMGR_COMPONENT_CONCURRENT;
  static inline const std::string_view config_schema = settings_schema;

  Provider(rmgr::Host host, std::string_view config);

  rmgr::Probe probe(const rmgr::Call& call, const rmgr::Profile& profile) override;
  std::optional<std::string> resolve(const rmgr::Call& call, const rmgr::Profile& profile) override;
  std::optional<std::string> prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  void start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
             rmgr::StartResult& result) override;
  rmgr::EnvironmentState inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  std::vector<rmgr::Owned> recover(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  void stop(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::Millis grace) override;
  void remove(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  std::vector<rmgr::Owned> enumerate_owned(const rmgr::Call& call, std::string_view host) override;
  bool owns(const rmgr::Call& call, const rmgr::Allocation& allocation,
            std::string_view environment) override;
  std::vector<std::string> diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation) override;

 private:
  using Container = plugins::engine::Container;
  // The allocation's container: by its id, or by its name if it bears the identity. Nothing if it is not
  // there.
  std::optional<Container> find(const rmgr::Call& call, const Connection& connection,
                                const rmgr::Allocation& allocation) const;
  // Its own that is there already, ready to be filled; throws if the name is a stranger's or it was started.
  std::optional<std::string> adopt(const rmgr::Call& call, const Connection& connection,
                                   const rmgr::Allocation& allocation) const;
  std::string join_network(const rmgr::Call& call, const Connection& connection,
                           const rmgr::Allocation& allocation) const;
  std::string create(const rmgr::Call& call, const Connection& connection, const rmgr::Allocation& allocation,
                     const std::string& network) const;
  void copy_package(const rmgr::Call& call, const Connection& connection, const rmgr::Allocation& allocation,
                    const std::string& id) const;
  std::vector<rmgr::Owned> list(const rmgr::Call& call, const plugins::engine::Labels& labels);
  // What the runner's own diagnostics in the container prove; empty: nothing.
  std::string evidence(const rmgr::Call& call, const Connection& connection,
                       const rmgr::Allocation& allocation, const std::string& id) const;
  static void discard(const rmgr::Call& call, const Connection& connection,
                      const rmgr::Allocation& allocation, const std::optional<std::string>& container);
  static void end(const rmgr::Call& call, const Connection& connection, const std::string& id,
                  rmgr::Millis grace);

  rmgr::Host host_;
  Settings settings_;
  Engine engine_;
  Images images_;
};

}  // namespace oci
