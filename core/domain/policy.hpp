// What an operator asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/ids.hpp"
#include "domain/target.hpp"
#include "domain/time.hpp"
#include "domain/vocabulary.hpp"

namespace agent::domain {

// How long each phase may last, from the last state change. A zero job timeout means none.
struct Timeouts {
  Millis jit_handoff{120'000};
  Millis startup{300'000};
  Millis idle{300'000};
  Millis stop_grace{10'000};
  Millis job{0};
  bool operator==(const Timeouts&) const = default;
};

// Limits that an isolated provider (and, where it can, the native one) enforces. Zero means no wish.
struct Profile {
  std::string image;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t disk_bytes = 0;
  std::int64_t pids = 0;
  bool operator==(const Profile&) const = default;
};

struct Policy {
  PolicyName name;
  Target target;
  InstanceName gateway;
  InstanceName provider;
  InstanceName package_source;
  ProviderKind provider_kind = ProviderKind::native;
  WorkspaceKind workspace = WorkspaceKind::ephemeral;
  std::string root;                  // absolute directory in which runtimes are made
  std::vector<std::string> labels;   // as registered, implicit ones included; unique case-folded
  std::int64_t runner_group_id = 1;  // GitHub's "Default" group
  std::int64_t min = 0;
  std::int64_t max = 1;
  std::int64_t warm = 0;      // prepared ahead of jobs, within max; isolated providers only
  std::int64_t priority = 0;  // higher goes first
  PolicyState state = PolicyState::active;
  Timeouts timeouts;
  Profile profile;
  bool operator==(const Policy&) const = default;
};

// Every rule about one policy that is broken, in words that name the field: floors of isolated profiles,
// legal combinations of workspace, target and provider, counts and label forms. Empty means legal.
std::vector<std::string> check_policy(const Policy& policy);

// Every rule between policies: unique names, no two with equal target, label set, group and priority, no two
// with the same root unless both are ephemeral.
std::vector<std::string> check_policies(const std::vector<Policy>& policies);

}  // namespace agent::domain
