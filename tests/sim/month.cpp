#include "sim/month.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "sim/agent.hpp"
#include "sim/settling.hpp"

namespace simulation {

namespace {

constexpr std::int64_t kMinute = 60'000;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kSettle = 12 * kHour;

constexpr std::int64_t kKeep = 2'000;
constexpr std::int64_t kKeepFor = 2 * kDay;
// Pruning is done once a minute, a step at a time, and not while the agent is down.
constexpr std::int64_t kSlack = 200;

struct Place {
  const char* target;
  const char* repository;
  const char* label;
  bool isolated;
};
constexpr std::array<Place, 4> kPlaces{{{"made/first", "made/first", "first", false},
                                        {"made/second", "made/second", "second", true},
                                        {"made", "made/fourth", "wide", false},
                                        {"other/third", "other/third", "third", false}}};

Configuration configuration() {
  Configuration made;
  made.options.host_capacity = 16;
  made.options.keep_attempts = kKeep;
  made.options.keep_for = domain::Millis{kKeepFor};
  for (const Place& place : kPlaces) {
    domain::Policy policy;
    policy.name = domain::PolicyName(place.label);
    policy.target = *domain::Target::parse(place.target);
    policy.gateway = domain::InstanceName("gateway");
    policy.package_source = domain::InstanceName("packages");
    policy.provider = domain::InstanceName(place.isolated ? "isolated" : "native");
    if (place.isolated) policy.provider_kind = domain::ProviderKind::isolated;
    policy.root = "/runtimes-" + std::string(place.label);
    policy.labels = {"self-hosted", "linux", place.label};
    policy.max = 8;
    made.policies.push_back(policy);
  }
  return made;
}

// Rare enough that most jobs see none of them.
Faults faults() {
  Faults faults;
  for (double* probability :
       {&faults.effect_fails, &faults.answer_lost, &faults.answer_doubled, &faults.call_stuck,
        &faults.gateway_down, &faults.look_unknown, &faults.never_connects, &faults.dies, &faults.row_refused,
        &faults.registration_lingers, &faults.evidence_lost, &faults.residue, &faults.registration_limited,
        &faults.call_given_up, &faults.listing_lacks, &faults.removal_busy, &faults.owned_by_others,
        &faults.assignment_withdrawn}) {
    *probability /= 10;
  }
  faults.duplicated = 0;  // which of two sandboxes is the right one a person says
  return faults;
}

class Calendar {
 public:
  Calendar(const Month& month, std::ostream& out)
      : month_(month), out_(out), agent_("month-" + std::to_string(month.seed), month.seed, nullptr) {}

  HistoryResult run();

 private:
  using Date = std::int64_t;
  void each_day(Date day);
  void at(Date day, std::int64_t low, std::int64_t high, const std::function<void()>& work) {
    agent_.schedule.at(day * kDay + agent_.chance.between(low, high), work);
  }
  void queue_jobs(Date day);
  void outage(Date day);
  void take_stock(Date day);
  void simulate_until(std::int64_t end_ms);

  Month month_;
  std::ostream& out_;
  Agent agent_;
  std::int64_t queued_ = 0;
  std::uint64_t first_week_bytes_ = 0;
};

void Calendar::queue_jobs(Date day) {
  for (std::int64_t left = month_.jobs_per_day; left > 0; --left) {
    // Two in three come in the eight hours of a working day.
    const bool working = agent_.chance.happens(0.66);
    const auto low = working ? 9 * kHour : 0;
    const auto high = working ? 17 * kHour : kDay - 1;
    at(day, low, high, [this] {
      const Place& place = kPlaces[static_cast<std::size_t>(agent_.chance.between(0, 3))];
      const std::int64_t takes = agent_.chance.happens(0.5) ? agent_.chance.between(1'000, kMinute)
                                                            : agent_.chance.between(kMinute, 4 * kMinute);
      ++queued_;
      agent_.nature.queue_job(place.repository, {"self-hosted", place.label}, takes);
    });
  }
}

void Calendar::outage(Date day) {
  const std::int64_t begin = agent_.chance.between(8 * kHour, 18 * kHour);
  const std::int64_t length = agent_.chance.between(kHour, 5 * kHour);
  agent_.schedule.at(day * kDay + begin, [this] { agent_.nature.take_github_down(true); });
  agent_.schedule.at(day * kDay + begin + length, [this] { agent_.nature.take_github_down(false); });
}

void Calendar::each_day(Date day) {
  queue_jobs(day);
  agent_.schedule.at(day * kDay + 2 * kHour, [this] { agent_.drain(); });  // the nightly restart
  if (day % 3 == 1) outage(day);
  if (day % 2 == 0) at(day, 0, kDay - 1, [this] { agent_.crash(false); });
  if (day % 4 == 2) at(day, 0, kDay - 1, [this] { agent_.world.dying = true; });
  if (day % 7 == 3) at(day, 0, kDay - 1, [this] { ++agent_.world.offered_package; });
  if (day % 7 == 5) {
    at(day, 0, kDay - 1, [this] {
      agent_.crash(true);
      agent_.world.reboot();
    });
  }
  if (day % 5 == 4) {
    at(day, 0, kDay - 1,
       [this] { agent_.world.wall_offset_ms += agent_.chance.between(-5 * kMinute, 5 * kMinute); });
  }
}

// What the journal holds at midnight.
void Calendar::take_stock(Date day) {
  const std::uint64_t bytes = agent_.disk.used();
  if (day <= 7) first_week_bytes_ = std::max(first_week_bytes_, bytes);
  std::int64_t rows = -1;
  if (agent_.opened() != nullptr) {
    const auto all = agent_.opened()->recent(10'000'000);
    if (all) rows = static_cast<std::int64_t>(all->size());
  }
  agent_.ledger.forget_settled();
  out_ << "day " << day << ": " << queued_ << " jobs queued, " << agent_.nature.done_jobs << " done, "
       << agent_.ledger.open().size() << " attempts open, " << rows << " rows, " << bytes / 1024
       << " KiB on disk, " << agent_.crashes << " restarts" << std::endl;
  const std::int64_t kept = std::max(kKeep, month_.jobs_per_day * (kKeepFor / kDay) * 5 / 4);
  if (rows > kept + kSlack)
    agent_.nature.violation("the journal keeps " + std::to_string(rows) + " rows, more than is configured");
  if (day > 7 && bytes > first_week_bytes_ + first_week_bytes_ / 4)
    agent_.nature.violation("the journal grew to " + std::to_string(bytes) + " bytes after the first week");
}

void Calendar::simulate_until(std::int64_t end_ms) {
  while (agent_.schedule.now_ms() < end_ms && agent_.nature.violations.empty()) {
    agent_.turn();
    agent_.advance(std::min<std::int64_t>(kMinute, end_ms - agent_.schedule.now_ms()));
  }
}

HistoryResult Calendar::run() {
  const Configuration configured = configuration();
  agent_.nature.faults = faults();
  agent_.ledger.configure(configured);
  agent_.start();
  for (Date day = 0; day < month_.days && agent_.nature.violations.empty(); ++day) {
    each_day(day);
    simulate_until((day + 1) * kDay);
    take_stock(day + 1);
  }
  agent_.nature.faults.on = false;
  agent_.nature.take_github_down(false);
  const std::int64_t end_ms = agent_.schedule.now_ms() + kSettle;
  const auto done = [&] { return settled(agent_, configured.policies, queued_); };
  while (agent_.nature.violations.empty() && agent_.schedule.now_ms() < end_ms && !done()) {
    agent_.turn();
    agent_.advance(kMinute);
  }
  if (agent_.nature.violations.empty() && !done())
    agent_.nature.violation("it did not settle after the month ended; " + agent_.describe());
  if (agent_.nature.violations.empty()) check_leftovers(agent_);
  return {.seed = month_.seed,
          .violations = agent_.nature.violations,
          .jobs = queued_,
          .crashes = agent_.crashes,
          .commits = agent_.commits,
          .effects = agent_.world.effects,
          .virtual_ms = agent_.schedule.now_ms()};
}

}  // namespace

HistoryResult run_month(const Month& month, std::ostream& out) { return Calendar(month, out).run(); }

}  // namespace simulation
