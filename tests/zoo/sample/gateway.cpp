#include <algorithm>

#include "sample.hpp"

namespace sample {

Gateway::Gateway(rmgr::Host host, std::string_view) : runners_(host) {}

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
  for (const std::string& id : runners_.names())
    runners.push_back({std::stoll(id), runners_.get(id).value_or(""), false, false});
  return runners;
}

rmgr::Registration Gateway::register_runner(const rmgr::Call& call,
                                            const rmgr::RegistrationRequest& request) {
  call.check();
  if (request.name.empty()) throw rmgr::Error(rmgr::Status::invalid, "A runner needs a name.");
  std::int64_t id = 1;
  for (const rmgr::Runner& runner : inventory(call, request.target)) {
    if (runner.name == request.name)
      throw rmgr::Error(rmgr::Status::exists, "A runner of that name is registered.");
    id = std::max(id, runner.id + 1);
  }
  const std::lock_guard lock(mutex_);
  runners_.put(std::to_string(id), std::string(request.name));
  return {id, rmgr::Secret(std::string_view("sample-jit-configuration"))};
}

void Gateway::deregister(const rmgr::Call&, std::string_view, std::int64_t runner_id) {
  const std::lock_guard lock(mutex_);
  runners_.remove(std::to_string(runner_id));
}

}  // namespace sample
