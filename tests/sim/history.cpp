#include "sim/history.hpp"

#include <algorithm>
#include <array>

#include "sim/agent.hpp"
#include "sim/laws.hpp"
#include "sim/plan.hpp"
#include "sim/settling.hpp"

namespace simulation {

namespace {

// After the faults: back-offs, debts, and clocks that were set back by hours end within it.
constexpr std::int64_t kSettleMs = 10 * 3600'000;
constexpr std::int64_t kMostSteps = 1'000'000;
constexpr std::int64_t kPromptMs = 5 * 60'000;

class History {
 public:
  History(std::uint64_t seed, std::vector<std::string>* trace)
      : agent_("history-" + std::to_string(seed), seed, trace), plan_(draw_plan(agent_.chance)) {
    result_.seed = seed;
  }

  HistoryResult run();

 private:
  void arrange();
  void arrange(const std::vector<Stretch>& stretches, const std::function<void(bool)>& set);
  void happen(Happening what);
  void end_faults();
  void watch_calm();
  [[nodiscard]] bool has_room(const SimJob& job) const;
  [[nodiscard]] bool settled() {
    return simulation::settled(agent_, plan_.policies, static_cast<std::int64_t>(plan_.jobs.size()));
  }

  Agent agent_;
  Plan plan_;
  HistoryResult result_;
  std::map<domain::JobId, std::int64_t> waits_since_ms_;  // with room for it
};

void History::arrange(const std::vector<Stretch>& stretches, const std::function<void(bool)>& set) {
  for (const Stretch& stretch : stretches) {
    agent_.schedule.at(stretch.begin_ms, [set] { set(true); });
    agent_.schedule.at(stretch.end_ms, [set] { set(false); });
  }
}

void History::arrange() {
  Schedule& schedule = agent_.schedule;
  for (const PlannedJob& job : plan_.jobs) {
    schedule.at(job.at_ms,
                [this, job] { agent_.nature.queue_job(job.repository, job.labels, job.duration_ms); });
  }
  for (const PlannedEvent& event : plan_.events)
    schedule.at(event.at_ms, [this, what = event.what] { happen(what); });
  arrange(plan_.outages, [this](bool down) { agent_.nature.take_github_down(down); });
  arrange(plan_.refusals, [this](bool refused) { agent_.world.registrations_refused = refused; });
  arrange(plan_.closures, [this](bool closed) { agent_.world.provider_closed = closed; });
  // In every other history a newer package is on offer at once.
  const bool newer = agent_.chance.happens(0.5);
  arrange(plan_.rejected_versions, [this, newer](bool rejected) {
    if (rejected && newer) ++agent_.world.offered_package;
    agent_.nature.version_rejected = rejected && !newer;
    if (!rejected && !newer) ++agent_.world.offered_package;
  });
  schedule.at(plan_.faults_end_ms, [this] { end_faults(); });
}

void History::happen(Happening what) {
  switch (what) {
    case Happening::crash_before_commit: agent_.crash_before_commit = true; break;
    case Happening::crash_after_commit: agent_.world.dying = true; break;
    case Happening::crash_anywhere: agent_.crash(false); break;
    case Happening::drain_and_restart: agent_.drain(); break;
    case Happening::reboot:
      agent_.crash(true);
      agent_.world.reboot();
      // A machine without a battery for its clock.
      if (agent_.chance.happens(0.3)) agent_.world.wall_offset_ms -= agent_.chance.between(0, 7'200'000);
      break;
    case Happening::clock_jump:
      agent_.world.wall_offset_ms += agent_.chance.between(-7'200'000, 7'200'000);
      break;
    case Happening::reconfigure: agent_.configure(vary(plan_, agent_.chance)); break;
    case Happening::operator_stop: {
      // Half of them come in the middle of a launch, where a moment decides what there is to stop.
      if (agent_.chance.happens(0.5)) {
        static constexpr std::array kSteps{
            domain::EffectKind::acquire_package, domain::EffectKind::materialize,
            domain::EffectKind::prepare,         domain::EffectKind::register_runner,
            domain::EffectKind::spawn_held,      domain::EffectKind::release};
        agent_.world.operator_stops_at = kSteps[static_cast<std::size_t>(agent_.chance.between(0, 5))];
        break;
      }
      const auto open = agent_.ledger.open();
      if (open.empty() || agent_.engine() == nullptr) break;
      const auto index = agent_.chance.between(0, static_cast<std::int64_t>(open.size()) - 1);
      agent_.engine()->on_event({.attempt = open[static_cast<std::size_t>(index)]->id,
                                 .seq = 0,
                                 .body = agent::lifecycle::event::OperatorStop{}});
      break;
    }
  }
}

// The operator looks after what the rules quarantined, and the configuration is the first one again.
void History::end_faults() {
  agent_.nature.faults.on = false;
  for (auto& [id, runner] : agent_.nature.runners)
    runner.duplicated = false;
  agent_.configure({.options = plan_.options, .policies = plan_.policies});
}

bool History::has_room(const SimJob& job) const {
  const Ledger& ledger = agent_.ledger;
  const auto& options = ledger.configured().options;
  if (ledger.host_load() >= options.host_capacity) return false;
  domain::Job listed;
  listed.repository = job.repository;
  listed.labels = job.labels;
  listed.queued = true;
  // All have as many labels, so it is the matching one of the highest priority, and no other one.
  const domain::Policy* owner = nullptr;
  for (const domain::Policy& policy : plan_.policies) {
    if (domain::matches(policy, listed) && (owner == nullptr || policy.priority > owner->priority))
      owner = &policy;
  }
  if (owner == nullptr || owner->workspace == domain::WorkspaceKind::persistent) return false;
  const bool capped = options.target_cap > 0 && ledger.target_load(owner->target) >= options.target_cap;
  return ledger.live_of(owner->name) < owner->max && !capped;
}

// Once nothing disturbs the agent any more, a job that there is room for starts soon.
void History::watch_calm() {
  const std::int64_t now = agent_.schedule.now_ms();
  if (now < plan_.calm_from_ms) return;
  for (const auto& [id, job] : agent_.nature.jobs) {
    if (job.started_ms || !has_room(job)) {
      waits_since_ms_.erase(id);
    } else if (now - waits_since_ms_.try_emplace(id, now).first->second > kPromptMs) {
      agent_.nature.violation("a job waited although there was room for it; " + agent_.describe());
      return;
    }
  }
}

HistoryResult History::run() {
  agent_.ledger.configure({.options = plan_.options, .policies = plan_.policies});
  arrange();
  agent_.start();
  std::int64_t steps = 0;
  const auto& violations = agent_.nature.violations;
  while (++steps < kMostSteps && agent_.schedule.now_ms() < plan_.faults_end_ms + kSettleMs &&
         violations.empty()) {
    agent_.turn();
    if (settled()) break;
    watch_calm();
    agent_.advance(60'000);
  }
  if (violations.empty() && !settled())
    agent_.nature.violation("it did not settle after the faults ended; " + agent_.describe());
  if (violations.empty()) check_leftovers(agent_);
  result_.violations = violations;
  result_.jobs = static_cast<std::int64_t>(plan_.jobs.size());
  result_.crashes = agent_.crashes;
  result_.commits = agent_.commits;
  result_.effects = agent_.world.effects;
  result_.virtual_ms = agent_.schedule.now_ms();
  return result_;
}

}  // namespace

HistoryResult run_history(std::uint64_t seed, std::vector<std::string>* trace) {
  return History(seed, trace).run();
}

}  // namespace simulation
