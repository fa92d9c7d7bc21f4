#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>

#include "crash_point.hpp"
#include "process/cgroup.hpp"
#include "process/gate.hpp"
#include "process/identity.hpp"
#include "process/leftovers.hpp"
#include "process/process.hpp"
#include "process/records.hpp"
#include "process/spawn.hpp"
#include "process/watcher.hpp"

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Millis;

constexpr Millis spawn_wait{10'000};
constexpr Millis kill_wait{10'000};
constexpr Millis slice{50};

// A shim at its gate, not yet released.
struct Held {
  Spec spec;
  ProcessIdentity identity;
  Gate gate;
};

// CAP_SYS_ADMIN in effect: root of a container often has it not.
bool may_mount() {
  constexpr unsigned long long bit = 1ULL << 21U;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:")) return (std::strtoull(line.c_str() + 7, nullptr, 16) & bit) != 0;
  }
  return false;
}

// Waits for the end of a process in slices, so that a cancelled call ends early.
enum class Wait { ended, timeout, cancelled };
Wait wait_ended(const Fd& pidfd, Millis timeout, const Cancelled& cancelled) {
  const auto give_up = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<Millis>(give_up - std::chrono::steady_clock::now());
    if (ended(pidfd, std::clamp(left, Millis(0), slice))) return Wait::ended;
    if (left <= Millis(0)) return Wait::timeout;
    if (cancelled && cancelled()) return Wait::cancelled;
  }
}

class Host final : public ProcessHost {
 public:
  Host(Options options, domain::BootId boot, Records records, Cgroups cgroups)
      : options_(std::move(options)),
        boot_(std::move(boot)),
        records_(std::move(records)),
        cgroups_(std::move(cgroups)) {}

  // What was not released ends at its closed gate and is reaped; what was released works on.
  ~Host() override {
    watcher_.reset();
    for (auto& [key, held] : held_) {
      if (!held) continue;
      auto live = open_live(held->identity, boot_);
      held.reset();
      if (live && *live) ended(**live, kill_wait);
    }
    cgroups_.remove_ours();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  Result<void> begin(std::function<void(std::string key)> on_exit) {
    auto watcher = ExitWatcher::create([this, on_exit = std::move(on_exit)](std::string key) {
      drop_ended_gate(key);
      if (on_exit) on_exit(std::move(key));
    });
    if (!watcher) return watcher.error();
    watcher_ = std::move(*watcher);
    return {};
  }

  Result<ProcessIdentity> spawn_held(const Spec& spec) override;
  Result<void> release(std::string_view key, const ProcessIdentity& identity, std::string_view secret_name,
                       std::string_view secret, Millis timeout) override;
  Result<State> inspect(std::string_view key, const ProcessIdentity& identity) override;
  Result<void> stop(std::string_view key, const ProcessIdentity& identity, Millis grace,
                    const Cancelled& cancelled) override;
  Result<void> forget(std::string_view key) override;
  [[nodiscard]] Abilities abilities() const override;

 private:
  Result<Shim> hold(const Spec& spec);
  Result<State> look_at_live(std::string_view key, const ProcessIdentity& identity, Fd pidfd);
  Result<State> look_at_ended(std::string_view key);
  Result<void> finish(std::string_view key);
  std::unique_ptr<Held> take(std::string_view key, const ProcessIdentity& identity);
  void drop_ended_gate(std::string_view key);
  Result<void> end_shim(std::string_view key, const ProcessIdentity& identity, const Fd& pidfd, Millis grace,
                        const Cancelled& cancelled);

  const Options options_;
  const domain::BootId boot_;
  const Records records_;
  const Cgroups cgroups_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Held>, std::less<>> held_;  // empty while it is being made
  std::unique_ptr<ExitWatcher> watcher_;                            // last: its thread uses the others
};

Result<ProcessIdentity> Host::spawn_held(const Spec& spec) {
  auto good = check_spec(spec);
  if (!good) return good.error();
  {
    const std::lock_guard lock(mutex_);
    if (!held_.try_emplace(spec.key).second) {
      return Error{ErrorCode::exists, "A process is already held under the key " + spec.key + "."};
    }
  }
  auto shim = hold(spec);
  const std::lock_guard lock(mutex_);
  if (!shim) {
    held_.erase(spec.key);
    return shim.error();
  }
  RMGR_CRASH_POINT("process.spawn.held");
  auto watched = watcher_->watch(spec.key, shim->identity, std::move(shim->pidfd));
  if (!watched) {
    held_.erase(spec.key);  // closes the gate, which ends the shim
    return watched.error();
  }
  auto held = std::make_unique<Held>(Held{spec, shim->identity, std::move(shim->gate)});
  held->spec.environment.clear();  // the shim has it; nobody here needs it again
  held_[spec.key] = std::move(held);
  return shim->identity;
}

Result<Shim> Host::hold(const Spec& spec) {
  auto made = records_.make(spec.key);
  if (!made) return made.error();
  RMGR_CRASH_POINT("process.spawn.record_made");
  auto grouped = cgroups_.make(spec.key, spec.limits);
  if (!grouped) {
    static_cast<void>(forget(spec.key));
    return grouped.error();
  }
  RMGR_CRASH_POINT("process.spawn.before");
  auto shim = start_shim(options_.shim, spec.key, boot_);
  if (!shim) {
    static_cast<void>(forget(spec.key));
    return shim.error();
  }
  RMGR_CRASH_POINT("process.spawn.started");
  auto ordered =
      shim->gate.launch(spec, options_.record_directory, *grouped, options_.gate_timeout, spawn_wait);
  RMGR_CRASH_POINT("process.spawn.ordered");
  wire::Failure failure{};
  const auto answer = ordered ? shim->gate.wait(spawn_wait, failure) : Gate::Answer::closed;
  if (answer == Gate::Answer::ready) return shim;
  discard(*shim);
  static_cast<void>(records_.remove(spec.key));
  static_cast<void>(cgroups_.remove(spec.key));
  if (!ordered && ordered.error().code == ErrorCode::invalid) return ordered.error();
  if (answer == Gate::Answer::failed) return Error{ErrorCode::retry, describe(failure, spec)};
  if (answer == Gate::Answer::nonsense) {
    return Error{ErrorCode::retry, "The supervisor " + options_.shim +
                                       " is of another version than this daemon; restart the daemon."};
  }
  return Error{ErrorCode::retry, "The supervisor of " + spec.key + " did not reach its gate in time."};
}

Result<void> Host::release(std::string_view key, const ProcessIdentity& identity,
                           std::string_view secret_name, std::string_view secret, Millis timeout) {
  const bool good_name = !secret_name.empty() && secret_name.size() <= wire::max_secret_name &&
                         secret_name.find_first_of(std::string_view("=\0", 2)) == std::string_view::npos;
  if (!good_name || secret.size() > wire::max_secret || secret.find('\0') != std::string_view::npos) {
    return Error{ErrorCode::invalid,
                 "The secret of " + std::string(key) + " is too long or holds a zero byte."};
  }
  auto held = take(key, identity);
  if (!held) {
    return Error{ErrorCode::not_found, "No process is held under the key " + std::string(key) +
                                           " by this daemon; nothing was started."};
  }
  RMGR_CRASH_POINT("process.release.before");
  auto marked = records_.mark_released(key);
  if (!marked) return Error{ErrorCode::invalid, marked.error().message + " Nothing was started."};
  RMGR_CRASH_POINT("process.release.marked");
  auto sent = held->gate.release(secret_name, secret, timeout);
  if (!sent) return sent;
  wire::Failure failure{};
  RMGR_CRASH_POINT("process.release.sent");
  switch (held->gate.wait(timeout, failure)) {
    case Gate::Answer::started: RMGR_CRASH_POINT("process.release.executed"); return {};
    case Gate::Answer::failed:
      return Error{ErrorCode::invalid, describe(failure, held->spec) + " Nothing was started."};
    case Gate::Answer::timeout:
      return Error{ErrorCode::deadline,
                   "The supervisor of " + std::string(key) + " did not report the start in time."};
    case Gate::Answer::closed: break;
    default: break;
  }
  return Error{ErrorCode::bad_response,
               "The supervisor of " + std::string(key) + " ended during the start; something may have run."};
}

Result<State> Host::inspect(std::string_view key, const ProcessIdentity& identity) {
  auto good = check_key(key);
  if (!good) return good.error();
  auto live = open_live(identity, boot_);
  if (!live) return live.error();
  if (*live) return look_at_live(key, identity, std::move(**live));
  return look_at_ended(key);
}

Result<State> Host::look_at_live(std::string_view key, const ProcessIdentity& identity, Fd pidfd) {
  auto child = records_.child_record(key);
  if (!child) return child.error();
  auto watched = watcher_->watch(key, identity, std::move(pidfd));
  if (!watched) return watched.error();
  if (*child) return State{Phase::running};
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(key);
    if (found != held_.end() && found->second && found->second->identity == identity)
      return State{Phase::prepared};
  }
  auto released = records_.released(key);
  if (!released) return released.error();
  if (!*released) return State{Phase::prepared};
  // Short-lived: the shim starts the child, reports why it could not, or finds its gate closed.
  return Error{ErrorCode::retry,
               "The process of " + std::string(key) + " is just being started; look again."};
}

// The shim is gone, so its files are final.
Result<State> Host::look_at_ended(std::string_view key) {
  auto record = records_.exit_record(key);
  if (!record) return record.error();
  auto child = records_.child_record(key);
  if (!child) return child.error();
  if (*child && !*record) {
    // Somebody killed the shim. Its child works on and is watched in its place.
    auto live = open_live((*child)->identity, boot_);
    if (!live) return live.error();
    if (*live) {
      auto watched = watcher_->watch(key, (*child)->identity, std::move(**live));
      if (!watched) return watched.error();
      return State{Phase::running};
    }
  }
  if (*record) RMGR_CRASH_POINT("process.exit_record.read");
  auto finished = finish(key);
  if (!finished) return Error{ErrorCode::retry, finished.error().message};
  if (*record) return State{Phase::exited, (*record)->code, (*record)->signal, (*record)->out_of_memory};
  if (*child) return State{Phase::exited, -1, 0, false};  // how it ended is lost with the shim
  return State{Phase::missing};
}

// Does what a shim does at the end, for one that is gone: nothing of the tree stays.
Result<void> Host::finish(std::string_view key) {
  RMGR_CRASH_POINT("process.finish.before_kill");
  auto emptied = cgroups_.kill(key, kill_wait);
  if (!emptied) return emptied;
  auto record = records_.exit_record(key);
  if (!record) return record.error();
  if (*record) return {};  // written by a shim that had proven it
  auto child = records_.child_record(key);
  if (!child) return child.error();
  if (!*child) return {};
  return end_leftovers(**child, boot_, kill_wait);
}

Result<void> Host::stop(std::string_view key, const ProcessIdentity& identity, Millis grace,
                        const Cancelled& cancelled) {
  auto good = check_key(key);
  if (!good) return good;
  auto live = open_live(identity, boot_);
  if (!live) return live.error();
  take(key, identity).reset();  // closes the gate: what was not released never will be
  if (*live) {
    auto done = end_shim(key, identity, **live, grace, cancelled);
    if (!done) return done;
  }
  return finish(key);
}

Result<void> Host::end_shim(std::string_view key, const ProcessIdentity& identity, const Fd& pidfd,
                            Millis grace, const Cancelled& cancelled) {
  const auto ask = [&pidfd](int number) -> Result<void> {
    // A job under the same account may have stopped the shim.
    for (const int each : {number, SIGCONT}) {
      auto sent = signal(pidfd, each);
      if (!sent) return sent.error();
    }
    return {};
  };
  struct Step {
    int number;
    Millis patience;
  };
  for (const Step step : {Step{wire::stop_signal, grace}, Step{wire::kill_signal, kill_wait}}) {
    if (step.patience <= Millis(0)) continue;
    RMGR_CRASH_POINT_OF("process.stop.", step.number == wire::kill_signal ? "kill" : "ask");
    auto asked = ask(step.number);
    if (!asked) return asked;
    RMGR_CRASH_POINT("process.stop.asked");
    switch (wait_ended(pidfd, step.patience, cancelled)) {
      case Wait::ended: RMGR_CRASH_POINT("process.stop.ended"); return {};
      case Wait::cancelled:
        return Error{ErrorCode::cancelled,
                     "Stopping " + std::string(key) + " was given up; it may still run."};
      case Wait::timeout: break;
    }
  }
  // The shim does not react, or something below it cannot be killed.
  auto emptied = cgroups_.kill(key, kill_wait);
  if (!emptied) return emptied;
  return end_unresponsive(identity, boot_, kill_wait);
}

Result<void> Host::forget(std::string_view key) {
  auto good = check_key(key);
  if (!good) return good;
  auto some = cgroups_.populated(key);
  if (!some) return some.error();
  auto child = records_.child_record(key);
  bool alive = *some || watcher_->runs(key);
  if (child && *child) {
    auto live = open_live((*child)->identity, boot_);
    if (!live) return live.error();
    alive = alive || live->has_value();
  }
  if (alive) {
    return Error{ErrorCode::busy, "The process of " + std::string(key) + " is not gone; stop it first."};
  }
  RMGR_CRASH_POINT("process.forget.before");
  auto ungrouped = cgroups_.remove(key);
  if (!ungrouped) return ungrouped;
  RMGR_CRASH_POINT("process.forget.cgroup_removed");
  return records_.remove(key);
}

Abilities Host::abilities() const {
  Abilities able;
  able.groups = cgroups_.enabled();
  able.limit_cpu = cgroups_.limits(Controller::cpu);
  able.limit_memory = cgroups_.limits(Controller::memory);
  able.limit_pids = cgroups_.limits(Controller::pids);
  able.accounts = ::geteuid() == 0;
  able.directories = may_mount();
  return able;
}

std::unique_ptr<Held> Host::take(std::string_view key, const ProcessIdentity& identity) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(key);
  if (found == held_.end() || !found->second || found->second->identity != identity) return nullptr;
  std::unique_ptr<Held> held = std::move(found->second);
  held_.erase(found);
  return held;
}

void Host::drop_ended_gate(std::string_view key) {
  std::optional<ProcessIdentity> held;
  {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(key);
    if (found == held_.end() || !found->second) return;
    held = found->second->identity;
  }
  // The hint may be about an earlier process of this key.
  auto live = open_live(*held, boot_);
  if (live && !*live) take(key, *held).reset();
}

}  // namespace

Result<std::unique_ptr<ProcessHost>> ProcessHost::create(Options options,
                                                         std::function<void(std::string key)> on_exit) {
  if (options.shim.empty() || options.shim.front() != '/' || ::access(options.shim.c_str(), X_OK) != 0) {
    return Error{ErrorCode::invalid, "The supervisor " + options.shim +
                                         " is not an executable with an absolute path; reinstall the agent."};
  }
  auto boot = current_boot();
  if (!boot) return boot.error();
  auto records = Records::open(options.record_directory);
  if (!records) return records.error();
  auto cgroups = Cgroups::open(options.cgroups);
  if (!cgroups) return cgroups.error();
  auto host =
      std::make_unique<Host>(std::move(options), std::move(*boot), std::move(*records), std::move(*cgroups));
  auto begun = host->begin(std::move(on_exit));
  if (!begun) return begun.error();
  return std::unique_ptr<ProcessHost>(std::move(host));
}

}  // namespace agent::process
