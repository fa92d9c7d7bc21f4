// Runs each attempt as a process of this machine, under the host's supervisor.
#pragma once

#include "native/accounts.hpp"
#include "native/containment.hpp"
#include "native/hooks.hpp"
#include "native/ledger.hpp"
#include "native/settings.hpp"
#include "rmgr/execution_provider.hpp"

namespace native {

class Provider final : public rmgr::ExecutionProvider {
 public:
  static constexpr std::uint32_t flags = RMGR_COMPONENT_CONCURRENT | RMGR_PROVIDER_HOLDS;
  static inline const std::string_view config_schema = settings_schema;
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
  // The account of a prepared attempt.
  [[nodiscard]] Account account_of(const rmgr::Allocation& allocation) const;
  [[nodiscard]] Containment containment(std::string_view policy) const {
    return {settings_.of(policy).containment, accounts_, able_};
  }
  [[nodiscard]] HookSubject subject_of(const rmgr::Allocation& allocation, std::uint32_t uid) const;
  void clear_account(const rmgr::Call& call, std::uint32_t uid) const;

  rmgr::Host host_;
  Settings settings_;
  Self self_;
  Accounts accounts_;
  rmgr::ProcessAbilities able_;
  Ledger ledger_;
  Hooks hooks_;
};

}  // namespace native
