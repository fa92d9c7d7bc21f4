#include "sim/history.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "sim/sim_journal.hpp"
#include "sim/sim_world.hpp"
#include "sim/vfs/memory_vfs.hpp"

namespace simulation {

namespace {

constexpr std::int64_t kFaultsEndMs = 40 * 60'000;
constexpr std::int64_t kSettleMs =
    4 * 3600'000;  // after the faults; back-offs and late registrations end within it
constexpr std::int64_t kMostSteps = 400'000;

// Log lines become the trace of a seed; most histories need none.
class TraceLog final : public agent::observe::Log {
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

class History {
 public:
  History(std::uint64_t seed, std::vector<std::string>* trace)
      : chance_(seed),
        nature_(schedule_, chance_),
        world_(schedule_, chance_, nature_),
        log_(schedule_, trace),
        disk_("history-" + std::to_string(seed)) {
    result_.seed = seed;
  }

  HistoryResult run();

 private:
  void plan();
  void start_agent();
  void crash_agent();
  std::optional<domain::ErrorCode> commit_failure();
  bool row_refused(const domain::AttemptId& attempt);
  void check_end();
  [[nodiscard]] std::string describe() const;
  [[nodiscard]] bool settled() const;

  Schedule schedule_;
  Chance chance_;
  Nature nature_;
  SimWorld world_;
  TraceLog log_;
  MemoryVfs disk_;
  HistoryResult result_;
  agent::reconcile::EngineOptions options_;
  domain::Policy policy_;
  std::unique_ptr<SimJournal> journal_;
  std::unique_ptr<agent::reconcile::Engine> engine_;
  std::int64_t planned_jobs_ = 0;
  bool crash_before_commit_ = false;
  std::int64_t disk_full_until_ms_ = 0;
  std::map<domain::AttemptId, std::int64_t> refused_until_ms_;
};

void History::plan() {
  options_.host_capacity = chance_.between(1, 4);
  policy_.name = domain::PolicyName("made");
  policy_.target = *domain::Target::parse("made/repository");
  policy_.gateway = domain::InstanceName("gateway");
  policy_.provider = domain::InstanceName("native");
  policy_.package_source = domain::InstanceName("packages");
  policy_.root = "/runtimes";
  policy_.labels = {"self-hosted", "linux", "x64"};
  policy_.max = chance_.between(1, 6);
  policy_.min = chance_.happens(0.1) ? 1 : 0;
  planned_jobs_ = chance_.between(1, 8);
  for (std::int64_t index = 0; index < planned_jobs_; ++index) {
    schedule_.after(chance_.between(0, 20 * 60'000), [this] {
      nature_.queue_job(chance_.happens(0.3) ? chance_.between(100, 2'000)
                                             : chance_.between(2'000, 8 * 60'000));
    });
  }
  const std::int64_t crashes = chance_.between(0, 4);
  for (std::int64_t index = 0; index < crashes; ++index) {
    schedule_.after(chance_.between(0, 30 * 60'000), [this] {
      // At a commit, on either side of it, or anywhere between two.
      const double where = chance_.unit();
      if (where < 0.4) {
        crash_before_commit_ = true;
      } else if (where < 0.8) {
        world_.dying = true;
      } else {
        crash_agent();
      }
    });
  }
  const std::int64_t jumps = chance_.between(0, 2);
  for (std::int64_t index = 0; index < jumps; ++index) {
    schedule_.after(chance_.between(0, 30 * 60'000),
                    [this] { world_.wall_offset_ms += chance_.between(-7'200'000, 7'200'000); });
  }
  schedule_.at(kFaultsEndMs, [this] { nature_.faults.on = false; });
}

void History::start_agent() {
  agent::journal::OpenOptions open;
  open.path = "/journal.db";
  open.vfs = disk_.name();
  open.installation = "00000000-0000-4000-8000-000000000001";
  open.machine = "made";
  open.check = false;
  auto opened = journal::Journal::open(open);
  if (!opened) {
    nature_.violation("the journal could not be opened: " + opened.error().message);
    return;
  }
  journal_ = std::make_unique<SimJournal>(
      std::move(*opened), nature_, [this] { return commit_failure(); },
      [this](const domain::AttemptId& attempt) { return row_refused(attempt); },
      [this] { ++result_.commits; });
  engine_ = std::make_unique<agent::reconcile::Engine>(options_, world_, *journal_, log_);
  world_.connect(engine_.get(), journal_.get());
  if (auto started = engine_->start({policy_}); !started) {
    nature_.violation("the engine could not start: " + started.error().message);
  }
}

// The agent dies before the commit, the disk is full for a while, or the journal will not have what it gets.
std::optional<domain::ErrorCode> History::commit_failure() {
  if (crash_before_commit_) {
    world_.dying = true;
    return domain::ErrorCode::retry;
  }
  if (!nature_.faults.on) return std::nullopt;
  if (schedule_.now_ms() < disk_full_until_ms_) return domain::ErrorCode::full;
  if (chance_.happens(0.005)) disk_full_until_ms_ = schedule_.now_ms() + chance_.between(1'000, 180'000);
  if (chance_.happens(0.01)) return domain::ErrorCode::retry;
  return std::nullopt;
}

// A row that is refused is refused for a while.
bool History::row_refused(const domain::AttemptId& attempt) {
  if (!nature_.faults.on) return false;
  std::int64_t& until = refused_until_ms_[attempt];
  if (until == 0 && chance_.happens(nature_.faults.row_refused))
    until = schedule_.now_ms() + chance_.between(1'000, 600'000);
  return schedule_.now_ms() < until;
}

void History::crash_agent() {
  if (!engine_) return;
  ++result_.crashes;
  disk_.crash();
  world_.crash();
  engine_.reset();
  journal_.reset();
  crash_before_commit_ = false;
  schedule_.after(chance_.between(10, 120'000), [this] { start_agent(); });
}

bool History::settled() const {
  const bool asked = static_cast<std::int64_t>(nature_.jobs.size()) == planned_jobs_;
  if (!asked || !nature_.all_jobs_done() || nature_.faults.on || !engine_) return false;
  // A policy with a minimum keeps that many runners for ever.
  const auto rows = engine_->attempts();
  const auto live = std::count_if(rows.begin(), rows.end(),
                                  [](const domain::Attempt& row) { return domain::is_live(row.state); });
  return static_cast<std::int64_t>(rows.size()) == live && live <= policy_.min;
}

// Where it got stuck, for whoever replays the seed.
std::string History::describe() const {
  if (!engine_) return "no agent runs at " + std::to_string(schedule_.now_ms());
  std::string text = "at " + std::to_string(schedule_.now_ms()) + ", next wake-up ";
  const auto due = engine_->next_wakeup();
  text += due ? std::to_string(due->boot_ms) : "never";
  for (const domain::Attempt& attempt : engine_->attempts()) {
    text += ", " + std::string(domain::to_string(attempt.state));
    if (attempt.pending) text += " doing " + std::string(domain::to_string(attempt.pending->kind));
  }
  for (const auto& policy : engine_->policies()) {
    text += ", limited by " + std::string(domain::to_string(policy.limited_by));
  }
  return text;
}

void History::check_end() {
  for (const auto& [id, job] : nature_.jobs) {
    if (job.starts != 1) nature_.violation("a job was started " + std::to_string(job.starts) + " times");
  }
  const auto kept = static_cast<std::size_t>(policy_.min);
  const auto expect = [this, kept](std::size_t left, const char* what) {
    if (left > kept) nature_.violation(std::to_string(left) + " " + what + " left over");
  };
  expect(nature_.registrations.size(), "registrations");
  expect(nature_.processes.size(), "processes");
  expect(nature_.directories.size(), "runtime directories");
}

HistoryResult History::run() {
  plan();
  start_agent();
  std::int64_t steps = 0;
  while (++steps < kMostSteps && schedule_.now_ms() < kFaultsEndMs + kSettleMs &&
         nature_.violations.empty()) {
    if (engine_) {
      engine_->turn();
      if (world_.dying) crash_agent();
    }
    if (settled()) break;
    std::int64_t limit = schedule_.now_ms() + 60'000;
    if (engine_) {
      const auto due = engine_->next_wakeup();
      if (due) limit = std::min(limit, std::max(due->boot_ms, schedule_.now_ms() + 1));
    }
    schedule_.step(limit);
  }
  if (nature_.violations.empty() && !settled())
    nature_.violation("it did not settle after the faults ended; " + describe());
  if (nature_.violations.empty()) check_end();
  world_.crash();
  engine_.reset();
  journal_.reset();
  result_.violations = nature_.violations;
  result_.jobs = planned_jobs_;
  result_.effects = world_.effects;
  result_.virtual_ms = schedule_.now_ms();
  return result_;
}

}  // namespace

HistoryResult run_history(std::uint64_t seed, std::vector<std::string>* trace) {
  return History(seed, trace).run();
}

}  // namespace simulation
