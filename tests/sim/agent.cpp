#include "sim/agent.hpp"

#include <algorithm>

namespace simulation {

// Log lines become the trace of a seed; most histories need none.
class Agent::TraceLog final : public agent::observe::Log {
 public:
  TraceLog(Schedule& schedule, std::vector<std::string>* lines) : schedule_(schedule), lines_(lines) {}
  void write(agent::observe::Level, agent::observe::Event event, agent::observe::Fields fields) override {
    if (lines_ == nullptr) return;
    std::string line =
        std::to_string(schedule_.now_ms()) + " " + std::string(agent::observe::to_string(event));
    for (const auto& [field, value] : fields) {
      line += " " + std::string(agent::observe::to_string(field)) + "=";
      if (const auto* text = std::get_if<std::string>(&value)) line += *text;
      if (const auto* number = std::get_if<std::int64_t>(&value)) line += std::to_string(*number);
    }
    lines_->push_back(std::move(line));
  }

 private:
  Schedule& schedule_;
  std::vector<std::string>* lines_;
};

Agent::Agent(const std::string& name, std::uint64_t seed, std::vector<std::string>* trace)
    : chance(seed),
      nature(schedule, chance),
      ledger(nature),
      world(schedule, chance, nature, ledger),
      disk(name),
      log_(std::make_unique<TraceLog>(schedule, trace)) {
  if (trace == nullptr) return;
  world.tell = [this, trace](const std::string& what) {
    trace->push_back(std::to_string(schedule.now_ms()) + " " + what);
  };
}

Agent::~Agent() {
  world.crash();
  engine_.reset();
  journal_.reset();
}

void Agent::start() {
  if (engine_) return;
  agent::journal::OpenOptions open;
  open.path = "/journal.db";
  open.vfs = disk.name();
  open.installation = "00000000-0000-4000-8000-000000000001";
  open.machine = "made";
  open.check = false;
  auto opened = journal::Journal::open(open);
  if (!opened) {
    nature.violation("the journal could not be opened: " + opened.error().message);
    return;
  }
  ledger.reopened(**opened);
  SimJournal::Watch watch;
  watch.before = [this] { return commit_failure(); };
  watch.refuses = [this](const domain::AttemptId& attempt) {
    const bool refuses = row_refused(attempt);
    if (refuses) ledger.rests(attempt);
    return refuses;
  };
  watch.written = [this](const journal::Batch& batch) {
    ++commits;
    ledger.written(batch, schedule.now_ms());
  };
  watch.failed = [this](const journal::Batch& batch, domain::ErrorCode code) {
    // The fences of the database are the last ones; the allocator is not to run into them.
    if (code == domain::ErrorCode::exists) nature.violation("what an attempt holds was granted once more");
    ledger.refused(batch);
  };
  journal_ = std::make_unique<SimJournal>(std::move(*opened), std::move(watch));
  engine_ = std::make_unique<reconcile::Engine>(ledger.configured().options, world, *journal_, *log_);
  world.connect(engine_.get(), journal_.get());
  if (auto started = engine_->start(ledger.configured().policies); !started)
    nature.violation("the engine could not start: " + started.error().message);
}

// The agent dies before the commit, the disk is full for a while, or the journal will not have what it gets.
std::optional<domain::ErrorCode> Agent::commit_failure() {
  if (crash_before_commit) {
    world.dying = true;
    return domain::ErrorCode::retry;
  }
  if (!nature.faults.on) return std::nullopt;
  if (schedule.now_ms() < disk_full_until_ms_) return domain::ErrorCode::full;
  if (chance.happens(0.005)) disk_full_until_ms_ = schedule.now_ms() + chance.between(1'000, 180'000);
  if (chance.happens(0.01)) return domain::ErrorCode::retry;
  // The disk itself, in the middle of the commit.
  if (chance.happens(0.005)) {
    disk.fail(chance.happens(0.5) ? Operation::write : Operation::sync,
              static_cast<std::uint64_t>(chance.between(1, 3)), Fault::no_space);
  }
  return std::nullopt;
}

// A row that is refused is refused for a while.
bool Agent::row_refused(const domain::AttemptId& attempt) {
  if (!nature.faults.on) return false;
  std::int64_t& until = refused_until_ms_[attempt];
  if (until == 0 && chance.happens(nature.faults.row_refused))
    until = schedule.now_ms() + chance.between(1'000, 600'000);
  return schedule.now_ms() < until;
}

void Agent::crash(bool power) {
  if (!engine_) return;
  ++crashes;
  if (power) {
    const double kept = chance.happens(0.5) ? 0.0 : 0.5;
    disk.crash([this, kept] { return chance.happens(kept); });
  } else {
    disk.crash([] { return true; });  // the system has what a killed program wrote
  }
  world.crash();
  engine_.reset();
  journal_.reset();
  crash_before_commit = false;
  schedule.after(chance.between(10, 120'000), [this] { start(); });
}

void Agent::drain() {
  if (!engine_) return;
  engine_->drain();
  await_quiet(schedule.now_ms() + 60'000);
}

void Agent::await_quiet(std::int64_t until_ms) {
  schedule.after(500, [this, until_ms] {
    if (!engine_ || !engine_->draining()) return;
    if (engine_->quiescent() || schedule.now_ms() >= until_ms) {
      crash(false);
    } else {
      await_quiet(until_ms);
    }
  });
}

void Agent::configure(Configuration configuration) {
  ledger.configure(std::move(configuration));
  if (!engine_) return;
  const Configuration& taken = ledger.configured();
  if (auto done = engine_->reload(taken.options, taken.policies); !done)
    nature.violation("a configuration was refused: " + done.error().message);
}

void Agent::turn() {
  if (!engine_) return;
  engine_->turn();
  if (world.dying) crash(false);
}

void Agent::advance(std::int64_t at_most_ms) {
  std::int64_t wait = at_most_ms;
  if (engine_) {
    if (const auto due = engine_->next_wakeup())
      wait = std::min(wait, std::max<std::int64_t>(domain::elapsed(world.now(), *due).count(), 1));
  }
  schedule.step(schedule.now_ms() + wait);
}

// Where it got stuck, for whoever replays the seed.
std::string Agent::describe() const {
  if (!engine_) return "no agent runs at " + std::to_string(schedule.now_ms());
  std::string text = "at " + std::to_string(schedule.now_ms()) + ": " + std::to_string(nature.jobs.size()) +
                     " jobs wait or run";
  for (const domain::Attempt& attempt : engine_->attempts()) {
    text += ", " + std::string(domain::to_string(attempt.state));
    if (attempt.pending) text += " doing " + std::string(domain::to_string(attempt.pending->kind));
  }
  for (const auto& policy : engine_->policies())
    text += ", limited by " + std::string(domain::to_string(policy.limited_by));
  return text;
}

}  // namespace simulation
