// The made outside: a GitHub, runners in processes and sandboxes, and files. It survives a crash of the
// agent, as the real ones do.
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

struct SimJob {
  std::string repository;
  std::vector<std::string> labels;
  std::int64_t duration_ms = 1'000;
  std::int64_t queued_ms = 0;
  std::optional<std::int64_t> started_ms;
  std::string runner;
};

struct SimRegistration {
  domain::RunnerId id;
  std::string name;
  domain::Target target;
  std::set<std::string> labels;  // folded
  std::int64_t made_ms = 0;
  bool online = false;
  std::optional<domain::JobId> job;
};

// A native process or an isolated sandbox. `held`: it exists and was never started. `gone`: the machine was
// rebooted under it.
enum class Phase { held, running, exited, gone };
struct SimRunner {
  bool isolated = false;
  Phase phase = Phase::held;
  domain::ProcessIdentity identity;   // of a process
  domain::EnvironmentId environment;  // of a sandbox
  bool duplicated = false;            // a second sandbox bears the same marks
  domain::RunnerId registration;      // that its secret belongs to
  bool clean = false;
  std::optional<std::int64_t> exit_code;
  bool ran_job = false;
  std::optional<std::int64_t> first_assigned_ms;
  bool listener_started = false;
};

// How nature misbehaves while faults are on.
struct Faults {
  bool on = true;
  double effect_fails = 0.05;  // nothing was done
  double answer_lost = 0.05;   // done, but the answer says "deadline"
  double answer_doubled = 0.03;
  double call_stuck = 0.01;    // done or not, and the answer takes a quarter of an hour
  double gateway_down = 0.05;  // a listing or a demand fails
  double look_unknown = 0.05;
  double never_connects = 0.03;       // a listener that stays offline
  double dies = 0.03;                 // a listener that ends with a failure
  double row_refused = 0.005;         // the journal will not have a row for a while
  double registration_lingers = 0.1;  // the ephemeral registration stays after the job
  double evidence_lost = 0.05;
  double residue = 0.05;               // a directory cannot be removed at first
  double registration_limited = 0.05;  // GitHub asks a registration to wait, up to a quarter of an hour
  double call_given_up = 0.05;         // the answer says "deadline", and what was asked happens later
  double listing_lacks = 0.02;         // a look-up by name misses what is new there
  double removal_busy = 0.05;          // GitHub calls a runner busy that it lists as idle
  double duplicated = 0.03;            // two sandboxes for one attempt
  double owned_by_others = 0.03;       // the sandbox that a provider answers is not the attempt's
  double assignment_withdrawn = 0.03;  // a job is cancelled before its runner takes it up
};

class Nature {
 public:
  Nature(Schedule& schedule, Chance& chance) : schedule_(schedule), chance_(chance) {}

  Faults faults;
  bool github_down = false;  // see take_github_down
  bool version_rejected = false;
  std::map<domain::JobId, SimJob> jobs;                  // that are queued or run
  std::map<std::string, SimRegistration> registrations;  // by runner name
  std::map<domain::AttemptId, SimRunner> runners;
  std::set<std::string> directories;  // runtimes
  std::vector<std::string> violations;
  std::int64_t done_jobs = 0;

  domain::JobId queue_job(std::string repository, std::vector<std::string> labels, std::int64_t duration_ms);
  // Jobs that waited for the end of an outage are handed out then.
  void take_github_down(bool down);
  // Registers once more under a name; nothing if the name is taken.
  std::optional<domain::RunnerId> register_runner(const domain::Attempt& attempt);
  // True: gone. False: busy.
  bool remove_registration(domain::RunnerId id);
  void hold(const domain::AttemptId& attempt, const domain::BootId& boot);
  const SimRunner& prepare(const domain::AttemptId& attempt);
  // The gate of a held process closes without a release when the agent dies.
  void close_gates();
  void reboot();
  // With the one-time secret of the registration `secret`.
  void release(const domain::AttemptId& attempt, domain::RunnerId secret);
  // `allowed_ms`: how long it must have had jobs for this to be in order; nothing: a job is never killed. Of
  // two jobs in a row between two listings nobody can know.
  void kill(const domain::AttemptId& attempt, std::optional<std::int64_t> allowed_ms);
  void remove(const domain::AttemptId& attempt) { runners.erase(attempt); }

  [[nodiscard]] std::vector<domain::Job> job_listing(const domain::Target& target) const;
  [[nodiscard]] std::vector<reconcile::ListedRunner> runner_listing(const domain::Target& target) const;
  [[nodiscard]] domain::EnvironmentView view_of(const domain::AttemptId& attempt) const;
  [[nodiscard]] domain::Evidence evidence_of(const domain::AttemptId& attempt);
  [[nodiscard]] bool runs(const domain::AttemptId& attempt) const;
  void violation(std::string what) { violations.push_back(std::move(what)); }

 private:
  void connect(const domain::AttemptId& attempt);
  void assign();
  void begin_job(SimRegistration& registration, domain::JobId id, SimJob& job);
  void finish(const domain::AttemptId& attempt, domain::JobId job);
  void end_job(domain::JobId job);
  void end_runner(const domain::AttemptId& attempt, Phase phase, bool clean,
                  std::optional<std::int64_t> code);

  Schedule& schedule_;
  Chance& chance_;
  std::int64_t next_job_ = 1;
  std::int64_t next_runner_ = 100;
  std::int64_t next_pid_ = 1000;
  std::set<domain::RunnerId> used_secrets_;
};

}  // namespace simulation
