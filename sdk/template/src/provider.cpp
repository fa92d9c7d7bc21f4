#include "provider.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace processes {
namespace {

namespace fs = std::filesystem;
using rmgr::Error;
using rmgr::Status;

constexpr std::string_view jit_variable = "ACTIONS_RUNNER_INPUT_JITCONFIG";
constexpr const char* nice_program = "/usr/bin/nice";

Record record_of(const rmgr::Allocation& allocation) {
  return {std::string(allocation.host), std::string(allocation.attempt), std::string(allocation.generation)};
}

std::string environment_of(std::string_view generation) {
  return "template:" + std::string(generation.substr(0, 8));
}

rmgr::Owned owned(const Record& record) {
  return {record.host, record.attempt, record.generation, "", environment_of(record.generation)};
}

std::string listener_of(const rmgr::Allocation& allocation) {
  std::string path = std::string(allocation.package) + "/bin/Runner.Listener";
  if (::access(path.c_str(), X_OK) != 0)
    throw Error(
        Status::invalid,
        "The runner package has no executable bin/Runner.Listener; it is damaged or not a runner package.");
  return path;
}

// Made before, or by an earlier call for the same attempt.
void make_private_directory(const std::string& path) {
  std::error_code failure;
  fs::create_directory(path, failure);
  if (!failure) fs::permissions(path, fs::perms::owner_all, failure);
  if (failure)
    throw Error(Status::retry, "A directory of the attempt could not be made: " + failure.message() + ".");
}

}  // namespace

Provider::Provider(rmgr::Host host, std::string_view config)
    : host_(host), settings_(parse_settings(config)), records_(host.kv()) {}

rmgr::Probe Provider::probe(const rmgr::Call& /*call*/, const rmgr::Profile& profile) {
  using rmgr::Readiness;
  // What cannot be promised is refused, never ignored.
  if (!profile.image.empty())
    return {Readiness::image_unavailable, "Processes have no image; remove image from the policy.", ""};
  if (profile.disk_bytes != 0)
    return {Readiness::disk_quota_unavailable, "Processes have no disk limit; remove it from the policy.",
            ""};
  if (profile.cpu_milli != 0 || profile.memory_bytes != 0 || profile.pids != 0)
    return {Readiness::unsupported, "This provider sets no limits; remove them from the policy.", ""};
  if (settings_.nice != 0 && ::access(nice_program, X_OK) != 0)
    return {Readiness::not_installed,
            "There is no /usr/bin/nice; install it or remove nice from the configuration.", ""};
  return {Readiness::ready, "", "jobs run as the agent's own account and can read what it can"};
}

std::optional<std::string> Provider::prepare(const rmgr::Call& /*call*/, const rmgr::Allocation& allocation) {
  listener_of(allocation);  // a bad package stops the launch before anything is registered
  const Record record = record_of(allocation);
  const std::optional<Record> known = records_.find(allocation.attempt);
  if (known && *known != record)
    throw Error(Status::exists, "Another generation of this attempt is still here; remove it first.");
  if (!known) records_.keep(record);  // before anything else exists, so that nothing exists without it
  const std::string runtime(allocation.runtime);
  make_private_directory(runtime + "/_home");
  make_private_directory(runtime + "/_temp");
  return environment_of(allocation.generation);
}

rmgr::ProcessIdentity Provider::hold(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  if (records_.find(allocation.attempt) != record_of(allocation))
    throw Error(Status::not_found, "The attempt was not prepared, or is removed already.");
  const std::string runtime(allocation.runtime);
  rmgr::ProcessSpec spec;
  spec.key = allocation.attempt;
  spec.directory = runtime;
  if (settings_.nice != 0) spec.argv = {nice_program, "-n", std::to_string(settings_.nice)};
  spec.argv.push_back(listener_of(allocation));
  spec.argv.emplace_back("run");
  // The whole environment: nothing of the daemon's own reaches a job.
  spec.environment = {"PATH=" + settings_.search_path, "LANG=C.UTF-8", "HOME=" + runtime + "/_home",
                      "TMPDIR=" + runtime + "/_temp"};
  if (::geteuid() == 0) spec.environment.emplace_back("RUNNER_ALLOW_RUNASROOT=1");
  return host_.process().spawn_held(call, spec);
}

void Provider::start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
                     rmgr::StartResult& result) {
  if (!allocation.process) {
    result.process_existed = false;
    throw Error(Status::invalid, "A process is started only after it was held.");
  }
  try {
    host_.process().release(call, allocation.attempt, *allocation.process, jit_variable, jit_config);
  } catch (const Error& error) {
    // Both mean that nothing ran: it could not be executed, or its gate had closed.
    result.process_existed = error.status() != Status::invalid && error.status() != Status::not_found;
    if (result.process_existed) {
      try {
        host_.process().stop(call, allocation.attempt, *allocation.process, rmgr::Millis{0});
      } catch (const Error&) {
        result.live_pid = allocation.process->pid;
      }
    }
    throw;
  }
}

rmgr::EnvironmentState Provider::inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  using rmgr::EnvironmentStatus;
  rmgr::EnvironmentState state;
  if (!allocation.process) {
    const bool prepared = records_.find(allocation.attempt) == record_of(allocation);
    state.status = prepared ? EnvironmentStatus::prepared : EnvironmentStatus::missing;
    return state;
  }
  // A look that fails throws, and so never reads as "missing".
  const rmgr::ProcessState process = host_.process().inspect(call, allocation.attempt, *allocation.process);
  switch (process.status) {
    case rmgr::ProcessStatus::prepared: state.status = EnvironmentStatus::prepared; break;
    case rmgr::ProcessStatus::running: state.status = EnvironmentStatus::running; break;
    case rmgr::ProcessStatus::missing: state.status = EnvironmentStatus::missing; break;
    case rmgr::ProcessStatus::exited:
      state.status = EnvironmentStatus::exited;
      state.exit_code = process.signal == 0 ? process.exit_code : -1;
      state.clean = process.signal == 0 && process.exit_code == 0;
      state.out_of_memory = process.out_of_memory;
      break;
  }
  return state;
}

std::vector<rmgr::Owned> Provider::recover(const rmgr::Call& /*call*/, const rmgr::Allocation& allocation) {
  const std::optional<Record> record = records_.find(allocation.attempt);
  if (record != record_of(allocation)) return {};
  return {owned(*record)};
}

void Provider::stop(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::Millis grace) {
  if (allocation.process) host_.process().stop(call, allocation.attempt, *allocation.process, grace);
}

void Provider::remove(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  const std::optional<Record> record = records_.find(allocation.attempt);
  if (record && *record != record_of(allocation)) return;  // of this generation nothing is left
  try {
    stop(call, allocation, rmgr::Millis{0});
    host_.process().forget(allocation.attempt);
  } catch (const Error& error) {
    if (error.status() != Status::busy) throw;
    throw Error(Status::retry, error.what(), error.retry_after());
  }
  records_.drop(allocation.attempt);  // last: until here a crash must find it again
}

std::vector<rmgr::Owned> Provider::enumerate_owned(const rmgr::Call& /*call*/, std::string_view host) {
  std::vector<rmgr::Owned> found;
  for (const Record& record : records_.all()) {
    if (record.host == host) found.push_back(owned(record));
  }
  return found;
}

bool Provider::owns(const rmgr::Call& /*call*/, const rmgr::Allocation& allocation,
                    std::string_view environment) {
  return records_.find(allocation.attempt) == record_of(allocation) &&
         environment == environment_of(allocation.generation);
}

std::vector<std::string> Provider::diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  // Words of a closed vocabulary; never what a job or the runner wrote.
  try {
    switch (inspect(call, allocation).status) {
      case rmgr::EnvironmentStatus::prepared: return {"process held"};
      case rmgr::EnvironmentStatus::starting:
      case rmgr::EnvironmentStatus::running: return {"process running"};
      case rmgr::EnvironmentStatus::exited: return {"process exited"};
      case rmgr::EnvironmentStatus::missing: return {"process never ran"};
    }
  } catch (const Error&) {  // a look that failed is worth a line, not a failure
  }
  return {"process state unknown"};
}

}  // namespace processes
