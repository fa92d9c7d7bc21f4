// The JSON documents that the control socket answers with; docs/cli.md describes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/attempt.hpp"
#include "plugin/host.hpp"
#include "reconcile/engine.hpp"

namespace agent::daemon {

// An agent that does not answer, as its state directory shows it.
struct OfflineInput {
  std::optional<std::int64_t> holder;  // the process that has the state directory
  domain::JournalState journal = domain::JournalState::ready;
  std::string message;                                 // what was seen and what to do; empty when ready
  std::optional<std::vector<domain::Attempt>> active;  // not done; nothing where the journal cannot tell
};

struct StatusInput {
  std::string installation;
  std::string version;
  std::int64_t started_at_ms = 0;
  std::int64_t host_capacity = 0;
  std::vector<plugin::InstanceStatus> instances;
  std::vector<std::string> notices;
};

std::string explanation_json(const reconcile::Explanation& explanation);
std::string status_json(const StatusInput& input, const reconcile::Engine& engine);
std::string offline_json(const OfflineInput& input);
// {"attempts":[…]}; the rows in the order given.
std::string attempts_json(const std::vector<domain::Attempt>& attempts);

}  // namespace agent::daemon
