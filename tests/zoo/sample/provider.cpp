#include "sample.hpp"

namespace sample {

Provider::Provider(rmgr::Host host, std::string_view config) : host_(host), config_(config) {}

rmgr::Probe Provider::probe(const rmgr::Call& call, const rmgr::Profile& profile) {
  call.check();
  if (!profile.image.empty())
    return {rmgr::Readiness::image_unavailable, "The sample provider has no images; remove `image`.", ""};
  return {rmgr::Readiness::ready, "", config_};
}

std::optional<std::string> Provider::prepare(const rmgr::Call&, const rmgr::Allocation& allocation) {
  const std::string attempt(allocation.attempt);
  const std::lock_guard lock(mutex_);
  Environment& environment = environments_[attempt];
  environment.identity = {std::string(allocation.host), attempt, std::string(allocation.generation), "",
                          "sample-" + attempt};
  environment.state.status = rmgr::EnvironmentStatus::prepared;
  return environment.identity.environment;
}

rmgr::ProcessIdentity Provider::hold(const rmgr::Call&, const rmgr::Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  Environment& environment = find(allocation);
  if (environment.pid == 0) environment.pid = next_pid_++;
  return {environment.pid, 7, "sample-boot"};
}

void Provider::start(const rmgr::Call&, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
                     rmgr::StartResult& result) {
  const std::lock_guard lock(mutex_);
  if (jit_config.empty() || !allocation.process) {
    result.process_existed = false;
    throw rmgr::Error(rmgr::Status::invalid, "The sample provider starts only what it held, with a secret.");
  }
  find(allocation).state.status = rmgr::EnvironmentStatus::running;
}

rmgr::EnvironmentState Provider::inspect(const rmgr::Call&, const rmgr::Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  const auto found = environments_.find(std::string(allocation.attempt));
  return found == environments_.end() ? rmgr::EnvironmentState{} : found->second.state;
}

std::vector<rmgr::Owned> Provider::recover(const rmgr::Call&, const rmgr::Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  const auto found = environments_.find(std::string(allocation.attempt));
  if (found == environments_.end()) return {};
  return {found->second.identity};
}

void Provider::stop(const rmgr::Call&, const rmgr::Allocation& allocation, rmgr::Millis) {
  const std::lock_guard lock(mutex_);
  const auto found = environments_.find(std::string(allocation.attempt));
  if (found == environments_.end()) return;
  found->second.state = {rmgr::EnvironmentStatus::exited, -1, false, false};
}

void Provider::remove(const rmgr::Call&, const rmgr::Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  environments_.erase(std::string(allocation.attempt));
}

std::vector<rmgr::Owned> Provider::enumerate_owned(const rmgr::Call&, std::string_view host) {
  const std::lock_guard lock(mutex_);
  std::vector<rmgr::Owned> owned;
  for (const auto& [attempt, environment] : environments_) {
    if (environment.identity.host == host) owned.push_back(environment.identity);
  }
  return owned;
}

bool Provider::owns(const rmgr::Call&, const rmgr::Allocation& allocation, std::string_view environment) {
  const std::lock_guard lock(mutex_);
  const auto found = environments_.find(std::string(allocation.attempt));
  return found != environments_.end() && found->second.identity.environment == environment &&
         found->second.identity.generation == allocation.generation;
}

Provider::Environment& Provider::find(const rmgr::Allocation& allocation) {
  const auto found = environments_.find(std::string(allocation.attempt));
  if (found == environments_.end())
    throw rmgr::Error(rmgr::Status::not_found, "The sample provider did not prepare this attempt.");
  return found->second;
}

}  // namespace sample
