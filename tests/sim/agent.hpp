// The agent under test and what surrounds it: started on the disk that survives it, killed, drained,
// configured.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reconcile/engine.hpp"
#include "sim/ledger.hpp"
#include "sim/nature.hpp"
#include "sim/schedule.hpp"
#include "sim/sim_journal.hpp"
#include "sim/sim_world.hpp"
#include "sim/vfs/memory_vfs.hpp"

namespace simulation {

class Agent {
 public:
  Agent(const std::string& name, std::uint64_t seed, std::vector<std::string>* trace);
  ~Agent();

  Schedule schedule;
  Chance chance;
  Nature nature;
  Ledger ledger;
  SimWorld world;
  MemoryVfs disk;
  std::int64_t commits = 0;
  std::int64_t crashes = 0;
  bool crash_before_commit = false;

  void start();
  // `power`: what was not synced is lost, or some of it.
  void crash(bool power);
  void drain();
  // At once if it lives; otherwise from its next start on.
  void configure(Configuration configuration);
  [[nodiscard]] reconcile::Engine* engine() { return engine_.get(); }
  [[nodiscard]] journal::Journal* opened() { return journal_.get(); }
  // One turn, and the moment of the next if nothing else happens.
  void turn();
  void advance(std::int64_t at_most_ms);
  [[nodiscard]] std::string describe() const;

 private:
  std::optional<domain::ErrorCode> commit_failure();
  bool row_refused(const domain::AttemptId& attempt);
  void await_quiet(std::int64_t until_ms);

  class TraceLog;
  std::unique_ptr<TraceLog> log_;
  std::unique_ptr<SimJournal> journal_;
  std::unique_ptr<reconcile::Engine> engine_;
  std::int64_t disk_full_until_ms_ = 0;
  std::map<domain::AttemptId, std::int64_t> refused_until_ms_;
};

}  // namespace simulation
