// What a policy asks to be kept from its jobs, and whether this machine can.
#pragma once

#include <string>
#include <vector>

#include "native/accounts.hpp"
#include "native/settings/containment.hpp"
#include "rmgr/execution_provider.hpp"

namespace native {

// Backs /tmp and /var/tmp of a job; in the runtime, with mode 1777.
inline constexpr const char* tmp_directory = "_tmp";
inline constexpr const char* var_tmp_directory = "_var_tmp";

class Containment {
 public:
  Containment(const ContainmentSettings& settings, const Accounts& accounts, rmgr::ProcessAbilities able)
      : settings_(settings), shared_(accounts.shared), able_(able) {}

  // Why this profile cannot run here; empty if it can. One sentence with the remedy.
  [[nodiscard]] std::string refusal(const rmgr::Profile& profile) const;
  // What nothing protects, each a clause without a full stop.
  [[nodiscard]] std::vector<std::string> gaps(const std::string& own_account) const;

  [[nodiscard]] bool private_tmp() const;
  // Throws `invalid` if the job could not see its own runtime or package, or a protected path is reached
  // through a link.
  void check_places(const std::string& runtime, const std::string& package) const;
  void apply(const rmgr::Profile& profile, const std::string& runtime, rmgr::ProcessSpec& spec) const;

 private:
  const ContainmentSettings& settings_;
  bool shared_;
  rmgr::ProcessAbilities able_;
};

}  // namespace native
