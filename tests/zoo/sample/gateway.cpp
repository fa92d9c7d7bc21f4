#include "sample.hpp"

namespace sample {

Gateway::Gateway(rmgr::Host, std::string_view) {}

rmgr::Demand Gateway::demand(const rmgr::Call& call, std::string_view target) {
  call.check();
  rmgr::Job job;
  job.queued = true;
  job.id = 41;
  job.run_id = 4;
  job.repository = target;
  job.labels = {"self-hosted", "linux"};
  rmgr::Demand demand;
  demand.jobs.push_back(std::move(job));
  demand.quota_left_percent = 99;
  return demand;
}

std::vector<rmgr::Runner> Gateway::inventory(const rmgr::Call&, std::string_view) {
  const std::lock_guard lock(mutex_);
  std::vector<rmgr::Runner> runners;
  for (const auto& [id, name] : runners_)
    runners.push_back({id, name, false, false});
  return runners;
}

rmgr::Registration Gateway::register_runner(const rmgr::Call&, const rmgr::RegistrationRequest& request) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, name] : runners_) {
    if (name == request.name) throw rmgr::Error(rmgr::Status::exists, "A runner of that name is registered.");
  }
  const std::int64_t id = next_id_++;
  runners_[id] = request.name;
  return {id, rmgr::Secret(std::string_view("sample-jit-configuration"))};
}

void Gateway::deregister(const rmgr::Call&, std::string_view, std::int64_t runner_id) {
  const std::lock_guard lock(mutex_);
  runners_.erase(runner_id);
}

}  // namespace sample
