// How each effect is really done: plugins, package cache and files. Every function blocks, runs in a lane,
// and answers the event that ends the effect. Nothing here decides; what a failure means is the machine's
// business.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "lifecycle/events.hpp"
#include "lifecycle/vault.hpp"
#include "package/package.hpp"
#include "plugin/host.hpp"

namespace agent::lifecycle {

struct Surroundings {
  plugin::PluginHost* plugins = nullptr;
  package::Cache* cache = nullptr;
  Vault* vault = nullptr;
  domain::InstallationId host;
  std::string records;  // directory of the records that survive attempts
  std::string os, architecture;
};

// What a look at the environment found.
struct EnvironmentLook {
  domain::EnvironmentView view = domain::EnvironmentView::unknown;
  bool clean = false;
  std::optional<std::int64_t> exit_code;
  bool out_of_memory = false;
  std::optional<domain::Evidence> evidence{};  // of what ran in a sandbox, which nobody else can read
};

// The event; for a failure the sentence that says why, which is for the log alone; and what a registration
// answered, for the vault.
struct Performed {
  EventBody body;
  std::string message;
  OneTimeSecret secret;
};

class Performer {
 public:
  explicit Performer(Surroundings surroundings) : world_(std::move(surroundings)) {}

  Performed acquire_package(plugin::Call& call, const domain::Attempt& attempt);
  Performed materialize(plugin::Call& call, const domain::Attempt& attempt);
  Performed prepare(plugin::Call& call, const domain::Attempt& attempt);
  Performed register_runner(plugin::Call& call, const domain::Attempt& attempt);
  Performed spawn_held(plugin::Call& call, const domain::Attempt& attempt);
  Performed release(plugin::Call& call, const domain::Attempt& attempt);
  Performed stop(plugin::Call& call, const domain::Attempt& attempt);
  Performed destroy(plugin::Call& call, const domain::Attempt& attempt);
  Performed deregister(plugin::Call& call, const domain::Attempt& attempt);
  // `configured`: the policy as it is now; null when it is gone.
  Performed scrub(plugin::Call& call, const domain::Attempt& attempt, const domain::Policy* configured);

  // Whether something is where the attempt's runtime was removed; what is there is removed.
  struct Swept {
    bool found = false, removed = false;
  };
  Swept sweep(plugin::Call& call, const domain::Attempt& attempt);

  EnvironmentLook look(plugin::Call& call, const domain::Attempt& attempt);

 private:
  Performed materialize_slot(plugin::Call& call, const domain::Attempt& attempt);
  Performed scrub_slot(plugin::Call& call, const domain::Attempt& attempt, const domain::Policy* configured);
  plugin::ExecutionProvider* provider_of(const domain::Attempt& attempt);
  plugin::Gateway* gateway_of(const domain::Attempt& attempt);
  plugin::Allocation allocation_of(const domain::Attempt& attempt) const;

  Surroundings world_;
};

// The event of an effect that failed so.
Performed failed(const domain::Error& error, bool process_existed = false);

// The directory of an attempt's runtime below its root.
std::string runtime_name(const domain::Attempt& attempt);

}  // namespace agent::lifecycle
