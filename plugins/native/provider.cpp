#include "native/provider.hpp"

#include <algorithm>

#include "crash_point.hpp"
#include "native/environment.hpp"
#include "native/residue.hpp"
#include "native/runner_env.hpp"
#include "native/runtime.hpp"
#include "native/shared_directories.hpp"

namespace native {
namespace {

using rmgr::Error;
using rmgr::Status;

constexpr rmgr::Millis residue_patience{5'000};

std::string environment_id(std::uint32_t uid, std::string_view generation) {
  return "native:" + std::to_string(uid) + ':' + std::string(generation.substr(0, 8));
}

rmgr::Owned owned(const Assignment& assignment) {
  return {assignment.host, assignment.attempt, assignment.generation, "",
          environment_id(assignment.uid, assignment.generation)};
}

Variables read_operator_file(const Settings& settings) {
  return settings.environment.runner_env.empty() ? Variables()
                                                 : read_runner_env(settings.environment.runner_env);
}

}  // namespace

Provider::Provider(rmgr::Host host, std::string_view config)
    : host_(host),
      settings_(parse_settings(config)),
      self_(self()),
      accounts_(resolve_accounts(settings_.accounts, self_, system_accounts())),
      able_(host.process().abilities()),
      ledger_(host.kv()),
      hooks_(host) {}

rmgr::Probe Provider::probe(const rmgr::Call& /*call*/, const rmgr::Profile& profile) {
  using rmgr::Readiness;
  if (!profile.image.empty()) {
    return {Readiness::image_unavailable, "Native runners have no image; remove image from the policy.", ""};
  }
  if (profile.disk_bytes != 0) {
    return {Readiness::disk_quota_unavailable,
            "Native runners have no disk limit; remove it from the policy or use a container provider.", ""};
  }
  const Containment contained = containment(profile.policy);
  if (std::string remedy = contained.refusal(profile); !remedy.empty())
    return {Readiness::unsupported, remedy, ""};
  try {
    read_operator_file(settings_);
    Hooks::check(settings_.of(profile.policy).hooks);
  } catch (const Error& error) {
    return {Readiness::degraded, error.what(), ""};
  }
  if (!accounts_.shared && !ledger_.has_free(accounts_.pool)) {
    return {Readiness::degraded,
            "All " + std::to_string(accounts_.pool.size()) +
                " job accounts are in use; add accounts to run_as or wait for a runner to end.",
            ""};
  }
  std::string note;
  const auto add = [&note](const std::string& clause) { note += (note.empty() ? "" : "; ") + clause; };
  for (const std::string& gap : contained.gaps(self_.name))
    add(gap);
  if (const std::string hooks = hooks_.note(profile.policy); !hooks.empty()) add(hooks);
  return {Readiness::ready, "", note};
}

std::optional<std::string> Provider::prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  read_operator_file(settings_);  // an invalid file stops a launch before anything is registered
  listener_of(std::string(allocation.package));
  const std::string runtime(allocation.runtime);
  const Containment contained = containment(allocation.policy);
  contained.check_places(runtime, std::string(allocation.package));
  const HookSettings& hooks = settings_.of(allocation.policy).hooks;
  if (accounts_.shared) {
    hooks_.before(call, hooks, subject_of(allocation, self_.uid));
    give_runtime(call, runtime, Account{self_.name, self_.uid, self_.gid}, contained.private_tmp());
    return environment_id(self_.uid, allocation.generation);
  }
  const bool known = ledger_.find(allocation.attempt).has_value();
  const Account account = ledger_.assign(
      accounts_.pool, Assignment{0, std::string(allocation.host), std::string(allocation.attempt),
                                 std::string(allocation.generation)});
  if (!known && count_processes(account.uid) > 0) {
    ledger_.release(Assignment{account.uid, "", std::string(allocation.attempt), ""});
    throw Error(Status::retry,
                "The job account " + account.name +
                    " runs processes that are not ours; end them and use it for nothing else.");
  }
  RMGR_CRASH_POINT("native.prepare.account_taken");
  // While nobody but this agent reaches into the directory; what the hook puts there is the job's afterwards.
  hooks_.before(call, hooks, subject_of(allocation, account.uid));
  give_runtime(call, runtime, account, contained.private_tmp());
  return environment_id(account.uid, allocation.generation);
}

rmgr::ProcessIdentity Provider::hold(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  const Account account = account_of(allocation);
  rmgr::ProcessSpec spec;
  spec.key = allocation.attempt;
  spec.argv = {listener_of(std::string(allocation.package)), "run"};
  spec.directory = allocation.runtime;
  spec.environment = build_environment(own_environment(), settings_.environment.inherit,
                                       read_operator_file(settings_), account, spec.directory);
  if (!accounts_.shared) {
    spec.uid = account.uid;
    spec.gid = account.gid;
  }
  containment(allocation.policy).apply(allocation.profile, spec.directory, spec);
  return host_.process().spawn_held(call, spec);
}

void Provider::start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
                     rmgr::StartResult& result) {
  if (!allocation.process) {
    result.process_existed = false;
    throw Error(Status::invalid, "A native runner is started only after it was held.");
  }
  try {
    host_.process().release(call, allocation.attempt, *allocation.process, jit_variable, jit_config);
  } catch (const Error& error) {
    // Both mean that nothing ran: it could not execute, or its gate had closed.
    result.process_existed = error.status() != Status::invalid && error.status() != Status::not_found;
    if (result.process_existed) {
      try {
        host_.process().stop(call, allocation.attempt, *allocation.process, rmgr::Millis(0));
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
    const bool there = accounts_.shared ? is_prepared(std::string(allocation.runtime))
                                        : ledger_.find(allocation.attempt).has_value();
    state.status = there ? EnvironmentStatus::prepared : EnvironmentStatus::missing;
    return state;
  }
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
  const auto assignment = ledger_.find(allocation.attempt);
  if (!assignment || assignment->generation != allocation.generation || assignment->host != allocation.host)
    return {};
  return {owned(*assignment)};
}

void Provider::stop(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::Millis grace) {
  if (allocation.process) host_.process().stop(call, allocation.attempt, *allocation.process, grace);
}

void Provider::remove(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  try {
    stop(call, allocation, rmgr::Millis(0));
    const auto assignment = ledger_.find(allocation.attempt);
    if (assignment) clear_account(call, assignment->uid);
    RMGR_CRASH_POINT("native.remove.cleared");
    hooks_.after(call, settings_.of(allocation.policy).hooks,
                 subject_of(allocation, assignment ? assignment->uid : self_.uid));
    hooks_.forget(allocation.attempt);
    host_.process().forget(allocation.attempt);
    if (assignment) ledger_.release(*assignment);
  } catch (const Error& error) {
    if (error.status() != Status::busy) throw;
    throw Error(Status::retry, error.what(), error.retry_after());
  }
}

std::vector<rmgr::Owned> Provider::enumerate_owned(const rmgr::Call& /*call*/, std::string_view host) {
  std::vector<rmgr::Owned> all;
  for (const Assignment& assignment : ledger_.all()) {
    if (assignment.host == host) all.push_back(owned(assignment));
  }
  return all;
}

bool Provider::owns(const rmgr::Call& /*call*/, const rmgr::Allocation& allocation,
                    std::string_view environment) {
  if (accounts_.shared) {
    return is_prepared(std::string(allocation.runtime)) &&
           environment == environment_id(self_.uid, allocation.generation);
  }
  const auto assignment = ledger_.find(allocation.attempt);
  return assignment && assignment->host == allocation.host &&
         assignment->generation == allocation.generation &&
         environment == environment_id(assignment->uid, assignment->generation);
}

std::vector<std::string> Provider::diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  std::vector<std::string> lines = {accounts_.shared ? "account shared" : "account dedicated"};
  try {
    const rmgr::EnvironmentState state = inspect(call, allocation);
    switch (state.status) {
      case rmgr::EnvironmentStatus::prepared: lines.emplace_back("process held"); break;
      case rmgr::EnvironmentStatus::starting:
      case rmgr::EnvironmentStatus::running: lines.emplace_back("process running"); break;
      case rmgr::EnvironmentStatus::missing: lines.emplace_back("process never ran"); break;
      case rmgr::EnvironmentStatus::exited:
        lines.push_back("process exited " + std::to_string(state.exit_code));
        if (state.out_of_memory) lines.emplace_back("out of memory");
        break;
    }
  } catch (const Error&) {
    lines.emplace_back("process state unknown");
  }
  return lines;
}

Account Provider::account_of(const rmgr::Allocation& allocation) const {
  if (accounts_.shared) return {self_.name, self_.uid, self_.gid};
  const auto assignment = ledger_.find(allocation.attempt);
  if (!assignment)
    throw Error(Status::not_found, "The attempt has no job account; it was not prepared or is removed.");
  const auto account = std::find_if(accounts_.pool.begin(), accounts_.pool.end(),
                                    [&](const Account& each) { return each.uid == assignment->uid; });
  if (account == accounts_.pool.end()) {
    throw Error(Status::invalid, "The attempt's job account is not configured any more.");
  }
  return *account;
}

HookSubject Provider::subject_of(const rmgr::Allocation& allocation, std::uint32_t uid) const {
  const auto account = std::find_if(accounts_.pool.begin(), accounts_.pool.end(),
                                    [uid](const Account& each) { return each.uid == uid; });
  const std::string name = account != accounts_.pool.end() ? account->name
                           : uid == self_.uid              ? self_.name
                                                           : std::to_string(uid);
  return {allocation.attempt, allocation.policy, allocation.runner_name, allocation.runtime, name};
}

void Provider::clear_account(const rmgr::Call& call, std::uint32_t uid) const {
  // The stored number is only a number: it must never reach root's processes or our own.
  if (uid == 0 || uid == self_.uid) {
    throw Error(Status::internal, "The stored job account is this agent's own; nothing was ended.");
  }
  end_processes(call, uid, residue_patience);
  // What a job left to be started later runs outside of everything that holds a job; some may have begun.
  remove_files(call, uid, schedule_directories());
  end_processes(call, uid, residue_patience);
  remove_files(call, uid, schedule_directories());
  remove_ipc(uid);
  remove_message_queues(call, uid);
  remove_files(call, uid, shared_directories());
}

}  // namespace native
