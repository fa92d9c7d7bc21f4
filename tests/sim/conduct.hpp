// What the agent may ask for, and in which order: checked at each effect that it issues.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "lifecycle/events.hpp"
#include "reconcile/world.hpp"

namespace simulation {

class Conduct {
 public:
  using Report = std::function<void(std::string)>;
  explicit Conduct(Report report) : report_(std::move(report)) {}

  // `row`: what the journal holds at this moment, read anew.
  void issued(const agent::reconcile::Effect& effect, const std::optional<agent::domain::Attempt>& row,
              std::int64_t now_ms);
  // The answer reaches the agent.
  void answered(const agent::lifecycle::Event& answer, agent::domain::EffectKind kind, std::int64_t now_ms);
  // Another agent: what it knew about waiting is gone, and everything is due.
  void restarted();

 private:
  struct Failure {
    std::int64_t at_ms = 0;
    std::int64_t wait_ms = 0;
  };
  struct Record {
    std::map<agent::domain::EffectKind, std::int64_t> issues;
    std::map<agent::domain::EffectKind, Failure> failures;  // that nothing was tried after
    std::uint64_t awaited = 0;         // the number of the last effect, until it is answered
    bool register_unresolved = false;  // a request was made, and its name was not looked up since
    bool deregistered = false;         // GitHub said so since the termination was decided
    bool concluded = false;            // when the last effect was issued
  };
  void check_intent(const agent::reconcile::Effect& effect, const std::optional<agent::domain::Attempt>& row);
  void check_ending(const agent::reconcile::Effect& effect, const agent::domain::Attempt& row,
                    const Record& record);

  Report report_;
  std::map<agent::domain::AttemptId, Record> attempts_;
};

}  // namespace simulation
