// The made outside: a GitHub, runner processes and files. It survives a crash of the agent, as the real ones
// do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "domain/decision.hpp"
#include "domain/labels.hpp"
#include "reconcile/world.hpp"
#include "sim/schedule.hpp"

namespace simulation {

namespace domain = agent::domain;
namespace reconcile = agent::reconcile;

enum class JobState { queued, running, done };
struct SimJob {
  JobState state = JobState::queued;
  std::int64_t starts = 0;
  std::string runner;
  std::int64_t duration_ms = 1'000;
};

struct SimRegistration {
  domain::RunnerId id;
  std::string name;
  bool online = false;
  std::optional<domain::JobId> job;
};

enum class ProcessPhase { held, running, exited };
struct SimProcess {
  ProcessPhase phase = ProcessPhase::held;
  domain::ProcessIdentity identity;
  bool clean = false;
  std::optional<std::int64_t> exit_code;
  bool ran_job = false;
  bool listener_started = false;
  std::int64_t releases = 0;
};

// How nature misbehaves while faults are on.
struct Faults {
  bool on = true;
  double effect_fails = 0.05;  // nothing was done
  double answer_lost = 0.05;   // done, but the answer says "deadline"
  double answer_doubled = 0.03;
  double gateway_down = 0.05;  // a listing or a demand fails
  double look_unknown = 0.05;
  double never_connects = 0.03;       // a listener that stays offline
  double dies = 0.03;                 // a listener that ends with a failure
  double row_refused = 0.005;         // the journal will not have a row for a while
  double registration_lingers = 0.1;  // the ephemeral registration stays after the job
  double evidence_lost = 0.05;
  double residue = 0.05;               // a directory cannot be removed at first
  double registration_limited = 0.05;  // GitHub asks a registration to wait, up to a quarter of an hour
  double call_given_up = 0.03;         // the answer says "deadline", and what was asked happens later
  double listing_lacks = 0.02;         // a look-up by name misses what is there
  double removal_busy = 0.05;          // GitHub calls a runner busy that it lists as idle
};

class Nature {
 public:
  Nature(Schedule& schedule, Chance& chance) : schedule_(schedule), chance_(chance) {}

  Faults faults;
  std::map<domain::JobId, SimJob> jobs;
  std::map<std::string, SimRegistration> registrations;  // by runner name
  std::map<domain::AttemptId, SimProcess> processes;
  std::set<std::string> directories;  // runtimes
  std::vector<std::string> violations;

  domain::JobId queue_job(std::int64_t duration_ms);
  // Registers once more under a name; nothing if the name is taken.
  std::optional<domain::RunnerId> register_name(const std::string& name);
  // True: gone. False: busy.
  bool remove_registration(domain::RunnerId id);
  void hold(const domain::AttemptId& attempt);
  // The gate of a held process closes without a release when the agent dies.
  void close_gates();
  void release(const domain::AttemptId& attempt);
  void kill(const domain::AttemptId& attempt);
  [[nodiscard]] std::vector<domain::Job> job_listing() const;
  [[nodiscard]] std::vector<reconcile::ListedRunner> runner_listing() const;
  [[nodiscard]] domain::EnvironmentView view_of(const domain::AttemptId& attempt) const;
  [[nodiscard]] domain::Evidence evidence_of(const domain::AttemptId& attempt);
  void violation(std::string what) { violations.push_back(std::move(what)); }
  [[nodiscard]] bool all_jobs_done() const;

 private:
  void connect(const domain::AttemptId& attempt);
  void assign();
  void finish(const domain::AttemptId& attempt, domain::JobId job);
  void end_process(const domain::AttemptId& attempt, bool clean, std::int64_t code);

  Schedule& schedule_;
  Chance& chance_;
  std::int64_t next_job_ = 1;
  std::int64_t next_runner_ = 100;
  std::int64_t next_pid_ = 1000;
};

}  // namespace simulation
