// What an operator may configure for native runners: the sum of the parts in settings/.
//
// Each part is a struct, its properties for the schema, and a `read` that fills the struct from the object
// that holds them. A part of PolicySettings is read once for the instance and again, over the outcome, for
// each policy that names some of its keys; so its `read` leaves alone what the object does not name, and its
// properties have no "default", which would be filled into every policy.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "native/settings/accounts.hpp"
#include "native/settings/containment.hpp"
#include "native/settings/environment.hpp"
#include "native/settings/hooks.hpp"

namespace native {

// What may differ between policies.
struct PolicySettings {
  ContainmentSettings containment;
  HookSettings hooks;
};

struct Settings {
  AccountSettings accounts;
  EnvironmentSettings environment;
  PolicySettings common;
  std::map<std::string, PolicySettings, std::less<>> policies;  // complete: `common` with their own on top

  [[nodiscard]] const PolicySettings& of(std::string_view policy) const {
    const auto found = policies.find(policy);
    return found == policies.end() ? common : found->second;
  }
};

extern const std::string_view settings_schema;

// Throws rmgr::Error for what the schema cannot say.
Settings parse_settings(std::string_view json);

}  // namespace native
