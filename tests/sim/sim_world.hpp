// The engine's world in the simulator: effects are done to Nature after a while, or not, or twice, or without
// an answer.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "journal/journal.hpp"
#include "reconcile/engine.hpp"
#include "sim/nature.hpp"

namespace simulation {

class SimWorld final : public reconcile::World {
 public:
  SimWorld(Schedule& schedule, Chance& chance, Nature& nature)
      : schedule_(schedule), chance_(chance), nature_(nature) {}

  // The living agent; null while it is dead.
  void connect(reconcile::Engine* engine, agent::journal::Journal* journal);
  // The agent dies now: what is in flight happened or not, and nobody learns which.
  void crash();
  // True: the agent is to die before the next effect is issued.
  bool dying = false;
  std::int64_t wall_offset_ms = 0;
  std::int64_t effects = 0;

  domain::Instant now() override;
  domain::AttemptId mint_attempt() override;
  domain::Generation mint_generation() override;
  double jitter() override { return chance_.unit(); }
  void perform(const reconcile::Effect& effect) override;
  void look(const reconcile::AttemptPointer& attempt, std::uint64_t pass) override;
  void list_inventory(const reconcile::TargetKey& target, std::uint64_t pass) override;
  void ask_demand(const reconcile::TargetKey& target, std::uint64_t pass) override;
  void probe(const domain::Policy& policy) override;
  void drop_secret(const domain::AttemptId& attempt) override { secrets_.erase(attempt); }
  void prune_packages(const std::set<domain::PackageDigest>&) override {}
  void sweep(const std::vector<reconcile::AttemptPointer>& /*attempts*/) override {
  }  // nothing comes back here
  void release_reserve() override {}

 private:
  using Body = agent::lifecycle::EventBody;
  Body carry_out(const reconcile::Effect& effect);
  void check_intent(const reconcile::Effect& effect);
  bool misbehaves(double probability) { return nature_.faults.on && chance_.happens(probability); }
  // Runs later if the same agent is still alive then.
  void later(std::int64_t delay_ms, std::function<void()> work);
  void answer(const reconcile::Effect& effect, const Body& body);
  std::optional<reconcile::GatewayFailure> gateway_failure();

  Schedule& schedule_;
  Chance& chance_;
  Nature& nature_;
  reconcile::Engine* engine_ = nullptr;
  agent::journal::Journal* journal_ = nullptr;
  std::uint64_t life_ = 0;
  std::map<std::uint64_t, reconcile::Effect> in_flight_;  // issued and not yet carried out
  std::uint64_t next_flight_ = 1;
  std::set<domain::AttemptId> secrets_;
};

}  // namespace simulation
