// What the journal promised to keep, remembered outside of it: each row as it was written last. It outlives
// the agents, and every batch and every restart is held against it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "journal/journal.hpp"
#include "sim/nature.hpp"
#include "sim/plan.hpp"

namespace simulation {

class Ledger {
 public:
  explicit Ledger(Nature& nature) : nature_(nature) {}

  // The configuration that the living agent has.
  [[nodiscard]] const Configuration& configured() const { return configured_; }
  void configure(Configuration configuration);

  // A new agent opens its journal: nothing that was written may be missing or different.
  void reopened(agent::journal::Journal& journal);
  // The agent is about to believe that this is durable, at `now_ms` since the history began.
  void written(const agent::journal::Batch& batch, std::int64_t now_ms);
  // Nothing was written, but a crash before the next commit may bring it back all the same.
  // The journal refuses this row until it is written again.
  void rests(const domain::AttemptId& attempt) { refused_.insert(attempt); }
  void refused(const agent::journal::Batch& batch);
  // At the end: history is kept.
  void compare_all(agent::journal::Journal& journal);

  // Of this target GitHub was listed after a look at these attempts.
  void reconciled(const reconcile::TargetKey& target, const std::set<domain::AttemptId>& attempts);
  // How many jobs the policy was last told of.
  void told(const reconcile::TargetKey& target, const std::vector<domain::Job>& jobs);

  [[nodiscard]] const std::map<domain::AttemptId, domain::Attempt>& rows() const { return rows_; }
  // That still ask for something.
  [[nodiscard]] std::vector<const domain::Attempt*> open() const;
  [[nodiscard]] std::int64_t live_of(const domain::PolicyName& policy) const;
  [[nodiscard]] std::int64_t host_load() const;
  [[nodiscard]] std::int64_t target_load(const domain::Target& target) const;
  void forget_settled();
  std::int64_t created = 0;

 private:
  void check_change(const domain::Attempt& before, const domain::Attempt& now);
  void check_new(const domain::Attempt& attempt, std::int64_t now_ms);
  void check_end(const domain::Attempt& before, const domain::Attempt& now);
  void compare(agent::journal::Journal& journal, const domain::AttemptId& id, const domain::Attempt& row);

  Nature& nature_;
  Configuration configured_;
  std::map<domain::AttemptId, domain::Attempt> rows_;
  std::set<domain::AttemptId> open_;
  std::set<domain::AttemptId> refused_;  // by the journal, when they were to change last
  std::map<domain::AttemptId, std::vector<std::optional<domain::Attempt>>>
      uncertain_;  // what may be there instead
  std::map<reconcile::TargetKey, std::set<domain::AttemptId>> unreconciled_;
  std::map<domain::PolicyName, std::int64_t> queued_;
  std::map<domain::PolicyName, std::int64_t> held_until_ms_;
};

}  // namespace simulation
