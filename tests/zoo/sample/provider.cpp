#include "sample.hpp"

namespace sample {
namespace {

constexpr std::string_view secret_name = "ACTIONS_RUNNER_INPUT_JITCONFIG";

std::string environment_id(std::string_view attempt) { return "sample-" + std::string(attempt); }

rmgr::EnvironmentState from(const rmgr::ProcessState& process) {
  using rmgr::EnvironmentStatus;
  switch (process.status) {
    case rmgr::ProcessStatus::prepared: return {EnvironmentStatus::prepared};
    case rmgr::ProcessStatus::running: return {EnvironmentStatus::running};
    case rmgr::ProcessStatus::missing: return {EnvironmentStatus::missing};
    case rmgr::ProcessStatus::exited: break;
  }
  const bool by_signal = process.signal != 0;
  return {EnvironmentStatus::exited, by_signal ? -1 : process.exit_code, !by_signal && process.exit_code == 0,
          process.out_of_memory};
}

}  // namespace

Provider::Provider(rmgr::Host host, std::string_view config)
    : host_(host),
      config_(config),
      pretends_(host.find<rmgr_process_service>(RMGR_SERVICE_PROCESS) == nullptr),
      store_(host) {}

rmgr::Probe Provider::probe(const rmgr::Call& call, const rmgr::Profile& profile) {
  call.check();
  if (!profile.image.empty())
    return {rmgr::Readiness::image_unavailable, "The sample provider has no images; remove `image`.", ""};
  return {rmgr::Readiness::ready, "", config_};
}

std::optional<std::string> Provider::prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  call.check();
  keep(allocation.attempt, {std::string(allocation.host), std::string(allocation.generation), "prepared"});
  return environment_id(allocation.attempt);
}

rmgr::ProcessIdentity Provider::hold(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  must_find(allocation.attempt);
  if (pretends_) return {next_pid_++, 7, "sample-boot"};
  rmgr::ProcessSpec spec;
  spec.key = allocation.attempt;
  spec.argv = {std::string(allocation.package) + "/bin/Runner.Listener", "run"};
  spec.environment = {"PATH=/usr/bin:/bin"};
  spec.directory = allocation.runtime;
  return host_.process().spawn_held(call, spec);
}

void Provider::start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
                     rmgr::StartResult& result) {
  result.process_existed = false;
  if (jit_config.empty() || !allocation.process)
    throw rmgr::Error(rmgr::Status::invalid, "The sample provider starts only what it held, with a secret.");
  Record record = must_find(allocation.attempt);
  record.pretended = "running";
  keep(allocation.attempt, record);
  result.process_existed = true;
  if (!pretends_)
    host_.process().release(call, allocation.attempt, *allocation.process, secret_name, jit_config);
}

rmgr::EnvironmentState Provider::inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  const auto record = find(allocation.attempt);
  if (!record) return {};
  if (!pretends_ && allocation.process)
    return from(host_.process().inspect(call, allocation.attempt, *allocation.process));
  if (record->pretended == "running") return {rmgr::EnvironmentStatus::running};
  if (record->pretended == "exited") return {rmgr::EnvironmentStatus::exited, -1, false, false};
  return {rmgr::EnvironmentStatus::prepared};
}

std::vector<rmgr::Owned> Provider::recover(const rmgr::Call&, const rmgr::Allocation& allocation) {
  const auto record = find(allocation.attempt);
  if (!record || record->generation != allocation.generation) return {};
  return {{record->host, std::string(allocation.attempt), record->generation, "",
           environment_id(allocation.attempt)}};
}

void Provider::stop(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::Millis grace) {
  auto record = find(allocation.attempt);
  if (!record) return;
  if (!pretends_ && allocation.process)
    host_.process().stop(call, allocation.attempt, *allocation.process, grace);
  record->pretended = "exited";
  keep(allocation.attempt, *record);
}

void Provider::remove(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  if (!find(allocation.attempt)) return;
  if (!pretends_) {
    if (allocation.process)
      host_.process().stop(call, allocation.attempt, *allocation.process, rmgr::Millis(0));
    host_.process().forget(allocation.attempt);
  }
  const std::lock_guard lock(mutex_);
  store_.remove(std::string(allocation.attempt));
}

std::vector<rmgr::Owned> Provider::enumerate_owned(const rmgr::Call&, std::string_view host) {
  std::vector<std::string> attempts;
  {
    const std::lock_guard lock(mutex_);
    attempts = store_.names();
  }
  std::vector<rmgr::Owned> owned;
  for (const std::string& attempt : attempts) {
    const auto record = find(attempt);
    if (record && record->host == host)
      owned.push_back({record->host, attempt, record->generation, "", environment_id(attempt)});
  }
  return owned;
}

bool Provider::owns(const rmgr::Call&, const rmgr::Allocation& allocation, std::string_view environment) {
  const auto record = find(allocation.attempt);
  return record && record->generation == allocation.generation &&
         environment == environment_id(allocation.attempt);
}

// A record is "HOST GENERATION PRETENDED".
std::optional<Provider::Record> Provider::find(std::string_view attempt) const {
  const std::lock_guard lock(mutex_);
  const auto text = store_.get(std::string(attempt));
  if (!text) return std::nullopt;
  const std::size_t first = text->find(' ');
  const std::size_t second = text->find(' ', first + 1);
  return Record{text->substr(0, first), text->substr(first + 1, second - first - 1),
                text->substr(second + 1)};
}

void Provider::keep(std::string_view attempt, const Record& record) {
  const std::lock_guard lock(mutex_);
  store_.put(std::string(attempt), record.host + " " + record.generation + " " + record.pretended);
}

Provider::Record Provider::must_find(std::string_view attempt) const {
  auto record = find(attempt);
  if (!record)
    throw rmgr::Error(rmgr::Status::not_found, "The sample provider did not prepare this attempt.");
  return std::move(*record);
}

}  // namespace sample
