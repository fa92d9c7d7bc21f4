#include "domain/reload.hpp"

#include <cstdint>
#include <map>

namespace agent::domain {
namespace {

// The first thing about `wanted` that attempts of `granted` do not survive; empty if there is none.
std::string in_the_way(const Policy& granted, const Policy& wanted) {
  if (granted.target != wanted.target) return "target";
  if (granted.gateway != wanted.gateway) return "gateway";
  if (granted.provider != wanted.provider || granted.provider_kind != wanted.provider_kind) return "provider";
  if (granted.workspace != wanted.workspace) return "workspace";
  if (granted.root != wanted.root) return "root";
  return {};
}

}  // namespace

std::vector<std::string> conflicts(const std::vector<Policy>& wanted,
                                   const std::vector<const Attempt*>& attempts) {
  std::vector<std::string> problems;
  for (const Policy& policy : wanted) {
    std::map<std::string, std::int64_t> against;
    for (const Attempt* attempt : attempts) {
      if (attempt->policy.name != policy.name || attempt->state == State::cleaned) continue;
      if (const std::string field = in_the_way(attempt->policy, policy); !field.empty()) ++against[field];
    }
    for (const auto& [field, count] : against) {
      problems.push_back("policy `" + policy.name.str() + "`: its " + field + " cannot change while " +
                         std::to_string(count) + (count == 1 ? " attempt is" : " attempts are") +
                         " not cleaned; use another name, or wait until they are");
    }
  }
  return problems;
}

}  // namespace agent::domain
