#include "server/world.hpp"

#include <algorithm>

#include "wire/text.hpp"

namespace emulator {
namespace {

// Ids look like GitHub's (large, and different for each kind) and are positions plus a base.
constexpr std::int64_t kFirstRun = 9'000'000'001;
constexpr std::int64_t kFirstJob = 31'000'000'001;
constexpr std::int64_t kFirstRunner = 1;
constexpr std::int64_t kFirstRepository = 70'001;

template <class Items>
auto* at_id(Items& items, std::int64_t id, std::int64_t first) {
  const bool known = id >= first && id - first < static_cast<std::int64_t>(items.size());
  return known ? &items[static_cast<std::size_t>(id - first)] : nullptr;
}

}  // namespace

std::string_view to_string(JobStatus status) {
  switch (status) {
    case JobStatus::waiting: return "waiting";
    case JobStatus::queued: return "queued";
    case JobStatus::in_progress: return "in_progress";
    case JobStatus::completed: return "completed";
  }
  return "";
}

std::string_view to_string(RemovedBy by) {
  switch (by) {
    case RemovedBy::nobody: return "";
    case RemovedBy::api: return "api";
    case RemovedBy::ephemeral: return "ephemeral";
  }
  return "";
}

JobStatus Job::status_at(Millis when) const {
  if (completed_at != 0 && completed_at <= when) return JobStatus::completed;
  for (const auto& held : assignments) {
    if (held.from <= when && (held.until == 0 || held.until > when)) return JobStatus::in_progress;
  }
  return queued_at != 0 && queued_at <= when ? JobStatus::queued : JobStatus::waiting;
}

bool Job::held_at(std::int64_t by_runner, Millis when) const {
  return std::any_of(assignments.begin(), assignments.end(), [&](const Assignment& held) {
    return held.runner_id == by_runner && held.from <= when && (held.until == 0 || held.until > when);
  });
}

bool Registration::listed_at(Millis when) const {
  return registered_at <= when && (removed_at == 0 || removed_at > when);
}

bool Registration::online_at(Millis when) const {
  bool state = false;
  for (const auto& [at, now_online] : online_changes) {
    if (at <= when) state = now_online;
  }
  return state;
}

const Repository& World::add_repository(std::string_view name) {
  auto [at, added] = repositories_.try_emplace(lower(name));
  if (added)
    at->second =
        Repository{kFirstRepository + static_cast<std::int64_t>(repositories_.size()) - 1, std::string(name)};
  return at->second;
}

const Repository* World::find_repository(std::string_view name) const {
  const auto at = repositories_.find(lower(name));
  return at == repositories_.end() ? nullptr : &at->second;
}

std::vector<const Repository*> World::repositories_of(const std::optional<std::string>& owner) const {
  std::vector<const Repository*> found;
  const std::string prefix = owner ? lower(*owner) + "/" : "";
  for (auto at = repositories_.lower_bound(prefix);
       at != repositories_.end() && at->first.starts_with(prefix); ++at) {
    found.push_back(&at->second);
  }
  return found;
}

std::optional<std::string> World::find_scope(std::string_view name) const {
  if (name.find('/') != std::string_view::npos) {
    const auto* repository = find_repository(name);
    return repository ? std::optional(repository->name) : std::nullopt;
  }
  const auto owned = repositories_of(std::string(name));
  return owned.empty() ? std::nullopt : std::optional(owned.front()->name.substr(0, name.size()));
}

std::vector<std::int64_t> World::queue(const JobRequest& request, Millis now) {
  Run& run = runs_.emplace_back();
  run.id = kFirstRun + static_cast<std::int64_t>(runs_.size()) - 1;
  run.number = static_cast<std::int64_t>(runs_.size());
  run.repository = find_repository(request.repository)->name;
  run.created_at = now;
  unfinished_runs_.insert(run.id);
  for (int i = 0; i < request.count; ++i) {
    Job& job = jobs_.emplace_back();
    job.id = kFirstJob + static_cast<std::int64_t>(jobs_.size()) - 1;
    job.run_id = run.id;
    job.repository = run.repository;
    job.name = request.count == 1 ? request.name : request.name + " (" + std::to_string(i + 1) + ")";
    job.labels = request.labels;
    job.runner_group_id = request.runner_group_id;
    job.script = request.script;
    job.status = request.status;
    job.created_at = now;
    if (request.status == JobStatus::queued) {
      job.queued_at = now;
      queued_.insert(job.id);
    }
    run.jobs.push_back(job.id);
  }
  return run.jobs;
}

std::vector<std::int64_t> World::rerun(std::int64_t run_id, Millis now) {
  Run* run = at_id(runs_, run_id, kFirstRun);
  std::vector<std::int64_t> added;
  if (run == nullptr) return added;
  for (const auto id : run->jobs) {
    const Job before = *find_job(id);
    if (before.attempt != run->attempt) continue;
    Job& job = jobs_.emplace_back();
    job.id = kFirstJob + static_cast<std::int64_t>(jobs_.size()) - 1;
    job.run_id = run_id;
    job.attempt = run->attempt + 1;
    job.repository = before.repository;
    job.name = before.name;
    job.labels = before.labels;
    job.runner_group_id = before.runner_group_id;
    job.script = before.script;
    job.created_at = job.queued_at = now;
    queued_.insert(job.id);
    added.push_back(job.id);
  }
  run->attempt += 1;
  unfinished_runs_.insert(run_id);
  run->jobs.insert(run->jobs.end(), added.begin(), added.end());
  return added;
}

void World::release(Job& job, Millis now) {
  if (job.status != JobStatus::waiting) return;
  job.status = JobStatus::queued;
  job.queued_at = now;
  queued_.insert(job.id);
}

Registration& World::add_registration(Registration wanted, Millis now) {
  Registration& added = registrations_.emplace_back(std::move(wanted));
  added.id = kFirstRunner + static_cast<std::int64_t>(registrations_.size()) - 1;
  added.token = random_hex(32);
  added.registered_at = now;
  listed_.insert(added.id);
  return added;
}

Registration* World::find_registration(std::int64_t id) { return at_id(registrations_, id, kFirstRunner); }

const Registration* World::find_listed(std::string_view scope, std::string_view name) const {
  for (const auto id : listed_) {
    const auto* candidate = at_id(registrations_, id, kFirstRunner);
    if (equal_fold(candidate->scope, scope) && equal_fold(candidate->name, name)) return candidate;
  }
  return nullptr;
}

void World::remove_registration(Registration& registration, RemovedBy by, Millis now) {
  if (registration.removed_at != 0) return;
  offline(registration, now);
  registration.removed_at = now;
  registration.removed_by = by;
  registration.session_open = false;
  listed_.erase(registration.id);
}

SessionOutcome World::open_session(std::string_view token, std::string_view nonce, Millis now,
                                   Registration*& out) {
  out = nullptr;
  for (auto& registration : registrations_) {
    if (registration.token == token) out = &registration;
  }
  if (out == nullptr) return SessionOutcome::unknown;
  if (out->removed_at != 0) return SessionOutcome::removed;
  const bool repeated = !nonce.empty() && out->session_open && out->session_nonce == nonce;
  if (!out->session_id.empty() && !repeated) return SessionOutcome::used;
  if (!repeated) {
    out->session_id = random_hex(16);
    out->session_nonce = nonce;
    out->session_at = now;
    out->session_open = true;
  }
  seen(*out, now);
  return SessionOutcome::opened;
}

Registration* World::find_session(std::string_view session_id) {
  if (session_id.empty()) return nullptr;
  const auto at = std::find_if(registrations_.rbegin(), registrations_.rend(),
                               [&](const Registration& r) { return r.session_id == session_id; });
  return at == registrations_.rend() ? nullptr : &*at;
}

void World::seen(Registration& registration, Millis now) {
  registration.last_seen = now;
  if (registration.online || !registration.session_open) return;
  registration.online = true;
  registration.online_changes.emplace_back(now, true);
}

void World::offline(Registration& registration, Millis now) {
  if (!registration.online) return;
  registration.online = false;
  registration.online_changes.emplace_back(now, false);
}

bool World::may_take(const Registration& registration, const Job& job) const {
  const std::string& scope = registration.scope;
  const bool organization = scope.find('/') == std::string::npos;
  const bool in_scope = organization ? equal_fold(job.repository.substr(0, job.repository.find('/')), scope)
                                     : equal_fold(job.repository, scope);
  if (!in_scope || (job.runner_group_id != 0 && job.runner_group_id != registration.group_id)) return false;
  return std::all_of(job.labels.begin(), job.labels.end(), [&](const std::string& label) {
    return std::any_of(registration.labels.begin(), registration.labels.end(),
                       [&](const std::string& have) { return equal_fold(have, label); });
  });
}

Job* World::next_job_for(const Registration& registration) {
  for (const auto id : queued_) {
    Job* job = find_job(id);
    if (may_take(registration, *job)) return job;
  }
  return nullptr;
}

void World::assign(Job& job, Registration& registration, Millis now) {
  queued_.erase(job.id);
  job.status = JobStatus::in_progress;
  job.assigned_at = now;
  job.runner_id = registration.id;
  job.runner_name = registration.name;
  job.assignments.push_back({registration.id, now, 0});
  registration.job_id = job.id;
  registration.last_job_id = job.id;
}

void World::start(Job& job, const Registration& registration, Millis now) {
  job.started_at = now;
  job.listener_exec_at = registration.listener_exec_at;
  job.started_by.push_back(registration.name);
}

void World::requeue(Job& job, Millis now) {
  if (auto* registration = find_registration(job.runner_id)) registration->job_id = 0;
  job.assignments.back().until = now;
  job.status = JobStatus::queued;
  job.assigned_at = 0;
  job.runner_id = 0;
  job.runner_name.clear();
  job.undeliverable = false;
  queued_.insert(job.id);
}

void World::complete(Job& job, std::string_view result, int exit_code, Millis now) {
  queued_.erase(job.id);
  job.status = JobStatus::completed;
  job.result = result;
  job.exit_code = exit_code;
  job.completed_at = now;
  if (auto* registration = find_registration(job.runner_id)) {
    registration->job_id = 0;
    job.assignments.back().until = now;
  }
  if (run_status(*find_run(job.run_id), now) == JobStatus::completed) unfinished_runs_.erase(job.run_id);
}

Job* World::find_job(std::int64_t id) { return at_id(jobs_, id, kFirstJob); }
const Job* World::find_job(std::int64_t id) const { return at_id(jobs_, id, kFirstJob); }
const Run* World::find_run(std::int64_t id) const { return at_id(runs_, id, kFirstRun); }

JobStatus World::run_status(const Run& run, Millis when) const {
  std::size_t considered = 0;
  std::size_t completed = 0;
  std::size_t waiting = 0;
  std::size_t running = 0;
  for (const auto id : run.jobs) {
    const Job& job = *find_job(id);
    if (job.attempt != run.attempt || job.created_at > when) continue;
    ++considered;
    const auto status = job.status_at(when);
    completed += status == JobStatus::completed ? 1U : 0U;
    waiting += status == JobStatus::waiting ? 1U : 0U;
    running += status == JobStatus::in_progress ? 1U : 0U;
  }
  if (completed == considered) return JobStatus::completed;
  if (running > 0 || completed > 0) return JobStatus::in_progress;
  return waiting == considered ? JobStatus::waiting : JobStatus::queued;
}

std::int64_t World::runner_of(const Job& job, Millis when) const {
  for (auto at = job.assignments.rbegin(); at != job.assignments.rend(); ++at) {
    if (at->from <= when && (at->until == 0 || at->until > when)) return at->runner_id;
  }
  return job.completed_at != 0 && job.completed_at <= when ? job.runner_id : 0;
}

}  // namespace emulator
