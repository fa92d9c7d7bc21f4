// A world that answers everything at once and in which nothing goes wrong: what is left of a pass is the
// engine's and the journal's own cost.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "reconcile/engine.hpp"

namespace bench {

namespace domain = agent::domain;
namespace reconcile = agent::reconcile;

class InstantWorld final : public reconcile::World {
 public:
  explicit InstantWorld(std::int64_t clock_ms) : clock_ms_(clock_ms) {}
  void connect(reconcile::Engine& engine) { engine_ = &engine; }
  // Runners that an earlier process started.
  void adopt(const std::vector<domain::Attempt>& attempts);

  void advance(domain::Millis by) { clock_ms_ += by.count(); }
  void queue_jobs(int jobs) { queued_ = jobs; }
  // The listener that has run for the longest time ends, its job done. Nothing if none runs.
  void end_oldest_job();
  [[nodiscard]] std::size_t running() const { return runners_.size(); }

  // Delivers answers and lets the engine work until both are at rest.
  void settle();

  domain::Instant now() override;
  domain::AttemptId mint_attempt() override;
  domain::Generation mint_generation() override;
  double jitter() override { return 0.5; }
  void perform(const reconcile::Effect& effect) override;
  void look(const reconcile::AttemptPointer& attempt, std::uint64_t pass) override;
  void list_inventory(const reconcile::TargetKey& target, std::uint64_t pass) override;
  void ask_demand(const reconcile::TargetKey& target, std::uint64_t pass) override;
  void probe(const domain::Policy& policy) override;
  void drop_secret(const domain::AttemptId&) override {}
  void prune_packages(const std::set<domain::PackageDigest>&) override {}
  void sweep(const std::vector<reconcile::AttemptPointer>& attempts) override;
  void release_reserve() override {}
  void restore_reserve() override {}

 private:
  struct Runner {
    domain::RunnerId id;
    std::uint64_t order = 0;
    bool ended = false;
  };
  agent::lifecycle::EventBody carry_out(const reconcile::Effect& effect);
  std::string hex(std::size_t digits);

  reconcile::Engine* engine_ = nullptr;
  std::deque<std::function<void()>> answers_;
  std::map<domain::AttemptId, Runner> runners_;  // registered and at work
  std::int64_t clock_ms_;
  int queued_ = 0;
  std::uint64_t next_order_ = 1;
  std::int64_t next_process_ = 1;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace bench
