// The engine's world in the simulator: effects are done to Nature after a while, or not, or twice, or without
// an answer.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "journal/journal.hpp"
#include "reconcile/engine.hpp"
#include "sim/conduct.hpp"
#include "sim/ledger.hpp"
#include "sim/nature.hpp"

namespace simulation {

class SimWorld final : public reconcile::World {
 public:
  SimWorld(Schedule& schedule, Chance& chance, Nature& nature, Ledger& ledger)
      : schedule_(schedule),
        chance_(chance),
        nature_(nature),
        ledger_(ledger),
        conduct([this](std::string what) { nature_.violation(std::move(what)); }) {}

  // The living agent; null while it is dead.
  void connect(reconcile::Engine* engine, agent::journal::Journal* journal);
  // The agent dies now: what is in flight happened or not, and nobody learns which.
  void crash();
  // The machine starts anew, with another boot id and a boot clock that begins again.
  void reboot();
  // True: the agent is to die before the next effect is issued.
  bool dying = false;
  std::int64_t wall_offset_ms = 0;
  std::int64_t effects = 0;
  // Outside: what the provider's probe and GitHub say.
  bool provider_closed = false;
  bool registrations_refused = false;
  // The next effect of this kind meets an operator who stops its attempt while it is under way.
  std::optional<domain::EffectKind> operator_stops_at;
  std::int64_t offered_package = 0;
  // Receives each effect and each answer in words, where somebody wants them.
  std::function<void(const std::string&)> tell;

  // One-time secrets in memory whose attempt is over.
  [[nodiscard]] std::int64_t stray_secrets() const;

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
  void restore_reserve() override;

 private:
  using Body = agent::lifecycle::EventBody;
  void carry_out_in_time(const reconcile::Effect& effect);
  Body carry_out(const reconcile::Effect& effect);
  Body remove_runner(const domain::Attempt& attempt);
  Body deregister(const domain::Attempt& attempt);
  bool misbehaves(double probability) { return nature_.faults.on && chance_.happens(probability); }
  // Runs later if the same agent is still alive then.
  void later(std::int64_t delay_ms, std::function<void()> work);
  void answer(const reconcile::Effect& effect, const Body& body);
  void give_up(const reconcile::Effect& effect);
  std::optional<reconcile::GatewayFailure> gateway_failure();

  Schedule& schedule_;
  Chance& chance_;
  Nature& nature_;
  Ledger& ledger_;
  Conduct conduct;
  reconcile::Engine* engine_ = nullptr;
  agent::journal::Journal* journal_ = nullptr;
  std::uint64_t life_ = 0;
  std::int64_t boot_ = 1;
  std::int64_t boot_began_ms_ = 0;
  std::map<std::uint64_t, reconcile::Effect> in_flight_;  // issued and not yet carried out
  std::uint64_t next_flight_ = 1;
  std::map<domain::AttemptId, domain::RunnerId> secrets_;
  std::map<std::uint64_t, std::set<domain::AttemptId>> seen_;  // by pass: looks that found something out
  std::map<domain::AttemptId, std::int64_t> blind_until_ms_;   // attempts that nobody can look at
};

}  // namespace simulation
