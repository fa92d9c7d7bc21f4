// Everything outside that the engine asks for, as data. The daemon performs it with plugins, files and
// processes; the simulator performs it in a made world. Nothing here blocks, and each request is answered at
// most once, later, through the engine's on_… functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/capacity.hpp"
#include "domain/decision.hpp"
#include "domain/labels.hpp"
#include "domain/slots.hpp"
#include "lifecycle/events.hpp"
#include "lifecycle/machine.hpp"

namespace agent::reconcile {

using AttemptPointer = std::shared_ptr<const domain::Attempt>;

// Names one target at one gateway.
struct TargetKey {
  domain::InstanceName gateway;
  domain::Target target;
  auto operator<=>(const TargetKey&) const = default;
};

inline TargetKey key_of(const domain::Policy& policy) {
  return {.gateway = policy.gateway, .target = policy.target};
}
inline bool serves(const domain::Policy& policy, const TargetKey& key) { return key_of(policy) == key; }
inline bool belongs_to(const domain::Attempt& attempt, const TargetKey& key) {
  return serves(attempt.policy, key);
}

// A changing effect whose intent is durable. The answer is a lifecycle::Event with the same attempt and seq.
struct Effect {
  domain::EffectKind kind = domain::EffectKind::acquire_package;
  std::uint64_t seq = 0;
  AttemptPointer attempt;
  // The policy as it is configured now, where a slot is to be scrubbed; null when it is gone.
  std::shared_ptr<const domain::Policy> configured{};
};

// What a look at the environment and at the runner's diagnostics found.
struct Look {
  domain::AttemptId attempt;
  std::uint64_t pass = 0;
  domain::EnvironmentView environment = domain::EnvironmentView::unknown;
  bool clean = false;
  std::optional<std::int64_t> exit_code{};
  bool out_of_memory = false;
  domain::Evidence evidence = domain::Evidence::unknown;
};

struct ListedRunner {
  domain::RunnerId id;
  std::string name;
  bool online = false;
  bool busy = false;
};

// What went wrong at a gateway. `code` decides how loudly and how soon it is tried again.
struct GatewayFailure {
  domain::ErrorCode code = domain::ErrorCode::internal;
  domain::Millis retry_after{0};
  std::string message{};
};

struct Inventory {
  TargetKey target;
  std::uint64_t pass = 0;
  std::vector<ListedRunner> runners{};
  std::optional<GatewayFailure> failure{};
};

struct DemandAnswer {
  TargetKey target;
  std::uint64_t pass = 0;
  std::vector<domain::Job> jobs{};
  std::int64_t quota_left_percent = -1;
  std::optional<GatewayFailure> failure{};
};

// Whether launches of a policy may be granted: the provider's probe and the root's preflight.
struct ReadinessAnswer {
  domain::PolicyName policy;
  domain::LimitingFactor blocked = domain::LimitingFactor::none;
  std::string remedy;          // one sentence when blocked
  std::string note;            // what the operator should know although it is ready
  std::string root_refusal{};  // the word for it, where the root is refused
  std::map<std::int64_t, domain::SlotRefusal> refused_slots{};  // of a persistent workspace
  std::string image{};          // digest-pinned, of an isolated provider; what is granted gets it
  bool package_inside = false;  // so does this: its environments have the runner package already
};

// What an isolated provider found of this host's.
struct ListedSandbox {
  std::string attempt, generation, environment;
};

// What was found where a runtime was removed.
struct ResidueSeen {
  domain::AttemptId attempt;
  bool found = false;    // something was there again, or nobody can tell
  bool removed = false;  // and nothing of it is left
};

// Whether the state directory holds the room that is kept for a full disk.
struct ReserveAnswer {
  bool held = true;
  std::string message{};  // why not
};

class World {
 public:
  virtual ~World() = default;
  [[nodiscard]] virtual domain::Instant now() = 0;
  virtual domain::AttemptId mint_attempt() = 0;
  virtual domain::Generation mint_generation() = 0;
  // A number in [0, 1) for jitter.
  virtual double jitter() = 0;

  virtual void perform(const Effect& effect) = 0;
  virtual void look(const AttemptPointer& attempt, std::uint64_t pass) = 0;
  virtual void list_inventory(const TargetKey& target, std::uint64_t pass) = 0;
  virtual void ask_demand(const TargetKey& target, std::uint64_t pass) = 0;
  virtual void probe(const domain::Policy& policy) = 0;
  virtual void drop_secret(const domain::AttemptId& attempt) = 0;
  virtual void prune_packages(const std::set<domain::PackageDigest>& leased) = 0;
  // Looks where the runtimes of these cleaned attempts were, and removes what is there again. Any number of
  // answers.
  virtual void sweep(const std::vector<AttemptPointer>& attempts) = 0;
  // The disk is full: give up what was kept for this moment.
  virtual void release_reserve() = 0;
  // Puts it back if there is room for that and for some work beside it; answered with on_reserve.
  virtual void restore_reserve() = 0;
};

}  // namespace agent::reconcile
