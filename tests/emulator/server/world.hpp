// What the emulated GitHub knows: repositories, runs, jobs, registrations and sessions. Pure state: no clock,
// no sockets, no JSON. Times are milliseconds of the wall clock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace emulator {

using Millis = std::int64_t;

enum class JobStatus { waiting, queued, in_progress, completed };
std::string_view to_string(JobStatus status);

// The time that one runner had one job.
struct Assignment {
  std::int64_t runner_id = 0;
  Millis from = 0;
  Millis until = 0;  // 0 while it lasts
};

struct Job {
  std::int64_t id = 0;
  std::int64_t run_id = 0;
  int attempt = 1;
  std::string repository;
  std::string name;
  std::vector<std::string> labels;
  std::int64_t runner_group_id = 0;  // 0: any
  std::string script;
  JobStatus status = JobStatus::queued;
  std::string result;  // success, failure or cancelled once completed
  int exit_code = -1;
  Millis created_at = 0;
  Millis queued_at = 0;  // each time below is 0 until it happened
  Millis assigned_at = 0;
  Millis started_at = 0;
  Millis completed_at = 0;
  Millis listener_exec_at = 0;
  std::int64_t runner_id = 0;
  std::string runner_name;
  bool undeliverable = false;  // assigned on paper only
  bool cancel_requested = false;
  std::vector<std::string> started_by;  // runner names, one for each start
  std::vector<Assignment> assignments;

  [[nodiscard]] JobStatus status_at(Millis when) const;
  [[nodiscard]] bool held_at(std::int64_t by_runner, Millis when) const;
};

struct Run {
  std::int64_t id = 0;
  std::int64_t number = 0;
  std::string repository;
  int attempt = 1;
  Millis created_at = 0;
  std::vector<std::int64_t> jobs;  // of all attempts
};

struct Repository {
  std::int64_t id = 0;
  std::string name;  // owner/repository as it was given
};

enum class RemovedBy { nobody, api, ephemeral };
std::string_view to_string(RemovedBy by);

struct Registration {
  std::int64_t id = 0;
  std::string name;
  std::string scope;  // owner/repository or an organization
  std::int64_t group_id = 1;
  std::vector<std::string> labels;
  std::string work_folder;
  std::string token;
  Millis registered_at = 0;
  Millis removed_at = 0;
  RemovedBy removed_by = RemovedBy::nobody;
  std::string session_id;  // empty until its listener connected, kept afterwards
  std::string session_nonce;
  bool session_open = false;
  Millis session_at = 0;
  Millis listener_exec_at = 0;
  std::int64_t listener_pid = 0;
  std::string version;
  bool online = false;
  bool polling = false;
  Millis last_seen = 0;
  std::vector<std::pair<Millis, bool>> online_changes;
  std::int64_t job_id = 0;  // 0 when idle
  std::int64_t last_job_id = 0;

  [[nodiscard]] bool listed_at(Millis when) const;
  [[nodiscard]] bool online_at(Millis when) const;
};

struct JobRequest {
  std::string repository;
  std::vector<std::string> labels;
  std::string script;
  std::string name = "job";
  std::int64_t runner_group_id = 0;
  JobStatus status = JobStatus::queued;
  int count = 1;
};

enum class SessionOutcome { opened, unknown, removed, used };

class World {
 public:
  // Known again: the same one.
  const Repository& add_repository(std::string_view name);
  [[nodiscard]] const Repository* find_repository(std::string_view name) const;
  // All of them if no owner is given.
  [[nodiscard]] std::vector<const Repository*> repositories_of(const std::optional<std::string>& owner) const;
  void add_group(std::int64_t id) { groups_.insert(id); }
  [[nodiscard]] bool has_group(std::int64_t id) const { return groups_.contains(id); }
  // "owner/repository" or an owner; the spelling that was first given, nothing if it is not known.
  [[nodiscard]] std::optional<std::string> find_scope(std::string_view name) const;

  // One run with `count` jobs. The repository must be known.
  std::vector<std::int64_t> queue(const JobRequest& request, Millis now);
  // The next attempt of a completed job's whole run, with new jobs.
  std::vector<std::int64_t> rerun(std::int64_t run_id, Millis now);
  void release(Job& job, Millis now);  // waiting to queued

  // A registration whose name is free within its scope.
  Registration& add_registration(Registration wanted, Millis now);
  [[nodiscard]] Registration* find_registration(std::int64_t id);
  [[nodiscard]] const Registration* find_listed(std::string_view scope, std::string_view name) const;
  void remove_registration(Registration& registration, RemovedBy by, Millis now);

  SessionOutcome open_session(std::string_view token, std::string_view nonce, Millis now, Registration*& out);
  [[nodiscard]] Registration* find_session(std::string_view session_id);
  void seen(Registration& registration, Millis now);
  void offline(Registration& registration, Millis now);

  // The oldest queued job that this runner may take.
  [[nodiscard]] Job* next_job_for(const Registration& registration);
  [[nodiscard]] bool may_take(const Registration& registration, const Job& job) const;
  void assign(Job& job, Registration& registration, Millis now);
  void start(Job& job, const Registration& registration, Millis now);
  void requeue(Job& job, Millis now);
  void complete(Job& job, std::string_view result, int exit_code, Millis now);

  [[nodiscard]] Job* find_job(std::int64_t id);
  [[nodiscard]] const Job* find_job(std::int64_t id) const;
  [[nodiscard]] const Run* find_run(std::int64_t id) const;
  [[nodiscard]] const std::deque<Job>& jobs() const { return jobs_; }
  [[nodiscard]] const std::deque<Run>& runs() const { return runs_; }
  [[nodiscard]] const std::deque<Registration>& registrations() const { return registrations_; }
  [[nodiscard]] const std::set<std::int64_t>& queued() const { return queued_; }
  [[nodiscard]] const std::set<std::int64_t>& unfinished_runs() const { return unfinished_runs_; }
  [[nodiscard]] const std::set<std::int64_t>& active_registrations() const { return listed_; }
  // The run's state follows from its latest attempt's jobs.
  [[nodiscard]] JobStatus run_status(const Run& run, Millis when) const;
  [[nodiscard]] std::int64_t runner_of(const Job& job, Millis when) const;

 private:
  std::map<std::string, Repository, std::less<>> repositories_;  // by lower-case name
  std::set<std::int64_t> groups_{1};
  std::deque<Run> runs_;  // ids are positions, see the .cpp
  std::deque<Job> jobs_;
  std::deque<Registration> registrations_;
  std::set<std::int64_t> queued_;
  std::set<std::int64_t> unfinished_runs_;
  std::set<std::int64_t> listed_;
};

}  // namespace emulator
