#include "sim/nature.hpp"

namespace simulation {

using domain::AttemptId;
using domain::JobId;

JobId Nature::queue_job(std::int64_t duration_ms) {
  const JobId id(next_job_++);
  jobs[id].duration_ms = duration_ms;
  assign();
  return id;
}

std::optional<domain::RunnerId> Nature::register_name(const std::string& name) {
  if (registrations.contains(name)) return std::nullopt;
  const domain::RunnerId id(next_runner_++);
  registrations[name] = {.id = id, .name = name, .online = false, .job = std::nullopt};
  return id;
}

bool Nature::remove_registration(domain::RunnerId id) {
  for (auto entry = registrations.begin(); entry != registrations.end(); ++entry) {
    if (entry->second.id != id) continue;
    if (entry->second.job) return false;
    registrations.erase(entry);
    return true;
  }
  return true;
}

void Nature::hold(const AttemptId& attempt) {
  SimProcess& process = processes[attempt];
  // A held process whose answer was lost is replaced: its gate closes and it never ran.
  if (process.identity.pid != 0 && process.phase != ProcessPhase::held) {
    violation("a second process was held for one attempt");
  }
  process.identity = {.pid = next_pid_++, .start_token = chance_.bits(), .boot_id = domain::BootId("boot")};
}

void Nature::close_gates() {
  for (auto entry = processes.begin(); entry != processes.end();) {
    entry = entry->second.phase == ProcessPhase::held ? processes.erase(entry) : std::next(entry);
  }
}

void Nature::release(const AttemptId& attempt) {
  const auto found = processes.find(attempt);
  if (found == processes.end()) {
    violation("a release without a held process");
    return;
  }
  SimProcess& process = found->second;
  if (++process.releases > 1) violation("a one-time secret was used twice");
  process.phase = ProcessPhase::running;
  process.listener_started = true;
  if (faults.on && chance_.happens(faults.dies)) {
    schedule_.after(chance_.between(10, 20'000), [this, attempt] { end_process(attempt, false, 1); });
  }
  if (faults.on && chance_.happens(faults.never_connects)) return;
  schedule_.after(chance_.between(200, 5'000), [this, attempt] { connect(attempt); });
}

void Nature::connect(const AttemptId& attempt) {
  const auto process = processes.find(attempt);
  if (process == processes.end() || process->second.phase != ProcessPhase::running) return;
  const auto registration = registrations.find(domain::runner_name(attempt));
  if (registration == registrations.end()) {
    end_process(attempt, false, 1);  // its registration was removed before it came
    return;
  }
  registration->second.online = true;
  assign();
}

void Nature::assign() {
  for (auto& [id, job] : jobs) {
    if (job.state != JobState::queued) continue;
    for (auto& [name, registration] : registrations) {
      if (!registration.online || registration.job) continue;
      const auto attempt = domain::attempt_of_runner_name(name);
      registration.job = id;
      job.state = JobState::running;
      job.runner = name;
      if (++job.starts > 1) violation("a job was started twice");
      processes[*attempt].ran_job = true;
      schedule_.after(job.duration_ms, [this, runner = *attempt, job_id = id] { finish(runner, job_id); });
      break;
    }
  }
}

void Nature::finish(const AttemptId& attempt, JobId job) {
  const auto process = processes.find(attempt);
  if (process == processes.end() || process->second.phase != ProcessPhase::running) return;
  jobs.at(job).state = JobState::done;
  const std::string name = domain::runner_name(attempt);
  const auto registration = registrations.find(name);
  if (registration != registrations.end()) {
    registration->second.job.reset();
    registration->second.online = false;
    if (!(faults.on && chance_.happens(faults.registration_lingers))) registrations.erase(registration);
  }
  end_process(attempt, true, 0);
}

void Nature::end_process(const AttemptId& attempt, bool clean, std::int64_t code) {
  const auto found = processes.find(attempt);
  if (found == processes.end() || found->second.phase == ProcessPhase::exited) return;
  SimProcess& process = found->second;
  process.phase = ProcessPhase::exited;
  process.clean = clean;
  process.exit_code = code;
  const auto registration = registrations.find(domain::runner_name(attempt));
  if (registration == registrations.end()) return;
  registration->second.online = false;
  if (registration->second.job) {
    jobs.at(*registration->second.job).state = JobState::done;  // GitHub reports it as failed; it ran
    registration->second.job.reset();
  }
}

void Nature::kill(const AttemptId& attempt) {
  const auto found = processes.find(attempt);
  if (found == processes.end()) return;
  if (found->second.phase == ProcessPhase::held) {
    processes.erase(found);
    return;
  }
  const auto registration = registrations.find(domain::runner_name(attempt));
  const bool has_job = registration != registrations.end() && registration->second.job.has_value();
  if (found->second.phase == ProcessPhase::running && has_job)
    violation("a runner that runs a job was killed");
  end_process(attempt, false, -1);
}

std::vector<domain::Job> Nature::job_listing() const {
  std::vector<domain::Job> listing;
  for (const auto& [id, job] : jobs) {
    if (job.state == JobState::done) continue;
    domain::Job row;
    row.id = id;
    row.run_id = id.get();
    row.repository = "made/repository";
    row.queued = job.state == JobState::queued;
    row.labels = {"self-hosted", "linux"};
    row.runner_name = job.state == JobState::running ? job.runner : std::string();
    listing.push_back(std::move(row));
  }
  return listing;
}

std::vector<reconcile::ListedRunner> Nature::runner_listing() const {
  std::vector<reconcile::ListedRunner> listing;
  for (const auto& [name, registration] : registrations) {
    listing.push_back({.id = registration.id,
                       .name = name,
                       .online = registration.online,
                       .busy = registration.job.has_value()});
  }
  return listing;
}

domain::EnvironmentView Nature::view_of(const AttemptId& attempt) const {
  const auto found = processes.find(attempt);
  if (found == processes.end()) return domain::EnvironmentView::missing;
  switch (found->second.phase) {
    case ProcessPhase::held: return domain::EnvironmentView::prepared;
    case ProcessPhase::running: return domain::EnvironmentView::running;
    case ProcessPhase::exited: return domain::EnvironmentView::exited;
  }
  return domain::EnvironmentView::unknown;
}

domain::Evidence Nature::evidence_of(const AttemptId& attempt) {
  const auto found = processes.find(attempt);
  if (found == processes.end() || (faults.on && chance_.happens(faults.evidence_lost))) {
    return domain::Evidence::unknown;
  }
  if (found->second.ran_job) return domain::Evidence::ran;
  return found->second.listener_started ? domain::Evidence::no_job : domain::Evidence::unknown;
}

bool Nature::all_jobs_done() const {
  for (const auto& [id, job] : jobs) {
    if (job.state != JobState::done) return false;
  }
  return true;
}

}  // namespace simulation
