// Runs each attempt as a process of this machine under the daemon's own account, through the host's process
// service.
#pragma once

#include "records.hpp"
#include "rmgr/execution_provider.hpp"
#include "settings.hpp"

namespace processes {

class Provider final : public rmgr::ExecutionProvider {
 public:
  // Calls of one lane never overlap, and what both lanes touch is the host's, so there is nothing to lock.
  static constexpr std::uint32_t flags = RMGR_PROVIDER_HOLDS;
  static constexpr std::string_view config_schema = settings_schema;
  Provider(rmgr::Host host, std::string_view config);

  rmgr::Probe probe(const rmgr::Call& call, const rmgr::Profile& profile) override;
  std::optional<std::string> prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
  rmgr::ProcessIdentity hold(const rmgr::Call& call, const rmgr::Allocation& allocation) override;
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
  rmgr::Host host_;
  Settings settings_;
  Records records_;
};

}  // namespace processes
