#include "sim/nature.hpp"

#include <algorithm>

namespace simulation {

using domain::AttemptId;
using domain::JobId;

namespace {

bool covers(const domain::Target& target, const std::string& repository) {
  if (target.kind() == domain::TargetKind::repository) return target.str() == repository;
  return repository.substr(0, repository.find('/')) == target.str();
}

bool can_run(const SimRegistration& runner, const SimJob& job) {
  if (!runner.online || runner.job || !covers(runner.target, job.repository)) return false;
  return std::all_of(job.labels.begin(), job.labels.end(), [&runner](const std::string& label) {
    return runner.labels.contains(domain::fold(label));
  });
}

}  // namespace

JobId Nature::queue_job(std::string repository, std::vector<std::string> labels, std::int64_t duration_ms) {
  const JobId id(next_job_++);
  SimJob& job = jobs[id];
  job.repository = std::move(repository);
  job.labels = std::move(labels);
  job.duration_ms = duration_ms;
  job.queued_ms = schedule_.now_ms();
  assign();
  return id;
}

void Nature::take_github_down(bool down) {
  github_down = down;
  assign();
}

std::optional<domain::RunnerId> Nature::register_runner(const domain::Attempt& attempt) {
  const std::string name = domain::runner_name(attempt.id);
  if (registrations.contains(name)) return std::nullopt;
  SimRegistration& made = registrations[name];
  made.id = domain::RunnerId(next_runner_++);
  made.name = name;
  made.made_ms = schedule_.now_ms();
  made.target = attempt.policy.target;
  for (const std::string& label : attempt.policy.labels)
    made.labels.insert(domain::fold(label));
  return made.id;
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

void Nature::hold(const AttemptId& attempt, const domain::BootId& boot) {
  SimRunner& runner = runners[attempt];
  // A held process whose answer was lost is replaced: its gate closes and it never ran.
  if (runner.identity.pid != 0 && runner.phase != Phase::held)
    violation("a second process was held for one attempt");
  runner.identity = {.pid = next_pid_++, .start_token = chance_.bits(), .boot_id = boot};
}

const SimRunner& Nature::prepare(const AttemptId& attempt) {
  const auto [entry, made] = runners.try_emplace(attempt);
  SimRunner& runner = entry->second;
  if (made) {
    runner.isolated = true;
    runner.environment = domain::EnvironmentId("sandbox-" + std::to_string(next_pid_++));
    runner.duplicated = faults.on && chance_.happens(faults.duplicated);
  } else if (runner.phase != Phase::held) {
    violation("a sandbox that was started was prepared once more");
  }
  return runner;
}

void Nature::close_gates() {
  for (auto entry = runners.begin(); entry != runners.end();) {
    const bool closes = entry->second.phase == Phase::held && !entry->second.isolated;
    entry = closes ? runners.erase(entry) : std::next(entry);
  }
}

// Processes are gone without a trace; an engine keeps what it ran, stopped.
void Nature::reboot() {
  close_gates();
  std::vector<std::pair<AttemptId, bool>> running;
  for (const auto& [id, runner] : runners) {
    if (runner.phase == Phase::running) running.emplace_back(id, runner.isolated);
  }
  for (const auto& [id, isolated] : running)
    end_runner(id, isolated ? Phase::exited : Phase::gone, false,
               isolated ? std::optional(137) : std::nullopt);
  for (auto& [id, runner] : runners) {
    if (!runner.isolated) runner.phase = Phase::gone;
  }
}

void Nature::release(const AttemptId& attempt, domain::RunnerId secret) {
  const auto found = runners.find(attempt);
  if (found == runners.end() || found->second.phase != Phase::held) {
    violation("a start without anything that waits for it");
    return;
  }
  SimRunner& runner = found->second;
  if (!used_secrets_.insert(secret).second) violation("a one-time secret was used twice");
  runner.registration = secret;
  runner.phase = Phase::running;
  runner.listener_started = true;
  if (faults.on && chance_.happens(faults.dies)) {
    schedule_.after(chance_.between(10, 20'000),
                    [this, attempt] { end_runner(attempt, Phase::exited, false, 1); });
  }
  if (faults.on && chance_.happens(faults.never_connects)) return;
  schedule_.after(chance_.between(200, 5'000), [this, attempt] { connect(attempt); });
}

void Nature::connect(const AttemptId& attempt) {
  const auto runner = runners.find(attempt);
  if (runner == runners.end() || runner->second.phase != Phase::running) return;
  if (github_down) {
    schedule_.after(chance_.between(10'000, 40'000), [this, attempt] { connect(attempt); });
    return;
  }
  const auto registration = registrations.find(domain::runner_name(attempt));
  if (registration == registrations.end() || registration->second.id != runner->second.registration) {
    end_runner(attempt, Phase::exited, false, 1);  // its registration was removed before it came
    return;
  }
  if (version_rejected) {
    end_runner(attempt, Phase::exited, false, 7);
    return;
  }
  registration->second.online = true;
  assign();
}

void Nature::assign() {
  if (github_down) return;
  for (auto& [id, job] : jobs) {
    if (job.started_ms) continue;
    const auto runner = std::find_if(registrations.begin(), registrations.end(),
                                     [&job](const auto& entry) { return can_run(entry.second, job); });
    if (runner != registrations.end()) begin_job(runner->second, id, job);
  }
}

void Nature::begin_job(SimRegistration& registration, JobId id, SimJob& job) {
  const auto attempt = domain::attempt_of_runner_name(registration.name);
  registration.job = id;
  if (job.started_ms) violation("a job was started twice");
  job.started_ms = schedule_.now_ms();
  job.runner = registration.name;
  SimRunner& runner = runners[*attempt];
  if (!runner.first_assigned_ms) runner.first_assigned_ms = job.started_ms;
  if (faults.on && chance_.happens(faults.assignment_withdrawn)) {
    // Cancelled before the listener made a worker: the runner goes on waiting.
    schedule_.after(chance_.between(100, 90'000), [this, name = registration.name, id] {
      const auto found = registrations.find(name);
      if (found == registrations.end() || found->second.job != id) return;
      found->second.job.reset();
      end_job(id);
      assign();
    });
    return;
  }
  runner.ran_job = true;
  schedule_.after(job.duration_ms, [this, attempt = *attempt, id] { finish(attempt, id); });
}

void Nature::end_job(JobId job) {
  if (jobs.erase(job) != 0) ++done_jobs;
}

void Nature::finish(const AttemptId& attempt, JobId job) {
  const auto runner = runners.find(attempt);
  if (runner == runners.end() || runner->second.phase != Phase::running) return;
  end_job(job);
  const auto registration = registrations.find(domain::runner_name(attempt));
  if (registration != registrations.end()) {
    registration->second.job.reset();
    registration->second.online = false;
    if (!(faults.on && chance_.happens(faults.registration_lingers))) registrations.erase(registration);
  }
  end_runner(attempt, Phase::exited, true, 0);
}

void Nature::end_runner(const AttemptId& attempt, Phase phase, bool clean, std::optional<std::int64_t> code) {
  const auto found = runners.find(attempt);
  if (found == runners.end() || found->second.phase != Phase::running) return;
  SimRunner& runner = found->second;
  runner.phase = phase;
  runner.clean = clean;
  runner.exit_code = code;
  const auto registration = registrations.find(domain::runner_name(attempt));
  if (registration == registrations.end()) return;
  registration->second.online = false;
  if (registration->second.job) {
    end_job(*registration->second.job);  // GitHub reports it as failed; it ran
    registration->second.job.reset();
  }
}

void Nature::kill(const AttemptId& attempt, std::optional<std::int64_t> allowed_ms) {
  const auto found = runners.find(attempt);
  if (found == runners.end()) return;
  if (found->second.phase == Phase::held) {
    if (!found->second.isolated) runners.erase(found);
    return;
  }
  if (found->second.phase != Phase::running) return;
  const auto registration = registrations.find(domain::runner_name(attempt));
  if (registration != registrations.end() && registration->second.job) {
    const auto had_ms = schedule_.now_ms() - *found->second.first_assigned_ms;
    if (!allowed_ms) violation("a runner that runs a job was killed");
    if (allowed_ms && had_ms < *allowed_ms) violation("a job was killed before its time was over");
  }
  end_runner(attempt, Phase::exited, false, -1);
}

std::vector<domain::Job> Nature::job_listing(const domain::Target& target) const {
  std::vector<domain::Job> listing;
  for (const auto& [id, job] : jobs) {
    if (!covers(target, job.repository)) continue;
    domain::Job row;
    row.id = id;
    row.run_id = id.get();
    row.repository = job.repository;
    row.queued = !job.started_ms;
    row.labels = job.labels;
    row.runner_name = job.runner;
    listing.push_back(std::move(row));
  }
  return listing;
}

std::vector<reconcile::ListedRunner> Nature::runner_listing(const domain::Target& target) const {
  std::vector<reconcile::ListedRunner> listing;
  for (const auto& [name, registration] : registrations) {
    if (!(registration.target == target)) continue;
    listing.push_back({.id = registration.id,
                       .name = name,
                       .online = registration.online,
                       .busy = registration.job.has_value()});
  }
  return listing;
}

domain::EnvironmentView Nature::view_of(const AttemptId& attempt) const {
  const auto found = runners.find(attempt);
  if (found == runners.end()) return domain::EnvironmentView::missing;
  // Which of two sandboxes is the attempt's nobody can tell.
  if (found->second.duplicated) return domain::EnvironmentView::unknown;
  switch (found->second.phase) {
    case Phase::held: return domain::EnvironmentView::prepared;
    case Phase::running: return domain::EnvironmentView::running;
    case Phase::exited: return domain::EnvironmentView::exited;
    case Phase::gone: return domain::EnvironmentView::missing;
  }
  return domain::EnvironmentView::unknown;
}

domain::Evidence Nature::evidence_of(const AttemptId& attempt) {
  const auto found = runners.find(attempt);
  if (found == runners.end() || (faults.on && chance_.happens(faults.evidence_lost)))
    return domain::Evidence::unknown;
  if (found->second.ran_job) return domain::Evidence::ran;
  return found->second.listener_started ? domain::Evidence::no_job : domain::Evidence::unknown;
}

bool Nature::runs(const AttemptId& attempt) const {
  const auto found = runners.find(attempt);
  return found != runners.end() && found->second.phase == Phase::running;
}

}  // namespace simulation
