// An engine over a journal that remembers many finished attempts.
#pragma once

#include <memory>
#include <string>

#include "bench/instant_world.hpp"
#include "journal/journal.hpp"

namespace bench {

inline constexpr int kLive = 10;

// One host with ten runners at work, its journal on disk as the daemon opens it.
class Host {
 public:
  // `keep`: how many finished attempts the journal keeps; age removes all others. `check`: as at every start
  // of the daemon.
  Host(const std::string& directory, std::int64_t keep, bool check);

  // A minute passes, one job ends, one is queued; everything that follows is done: looks, listing, decisions,
  // the end of one attempt, the launch of another, and the pruning of what the journal holds too much.
  void pass();

  [[nodiscard]] agent::journal::Journal& journal() { return *journal_; }
  [[nodiscard]] std::int64_t now_ms() { return world_->now().wall_ms; }

 private:
  class Silence final : public agent::observe::Log {
    void write(agent::observe::Level, agent::observe::Event, agent::observe::Fields) override {}
  };
  std::unique_ptr<agent::journal::Journal> journal_;
  Silence log_;
  std::unique_ptr<InstantWorld> world_;
  std::unique_ptr<reconcile::Engine> engine_;
};

// Makes a journal with `finished` attempts of the past, `directory` being its own and 0700. A few are made by
// the engine itself; the others are copies of those, rows and events, under ids of their own.
void make_history(const std::string& directory, std::int64_t finished);

// Rows of the journal in `directory`: finished attempts, and events.
struct Rows {
  std::int64_t attempts = 0, events = 0;
};
Rows count_rows(const std::string& directory);

}  // namespace bench
