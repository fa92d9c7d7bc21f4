#include "native/hooks.hpp"

#include <algorithm>
#include <thread>

#include "crash_point.hpp"
#include "native/hook_file.hpp"

namespace native {
namespace {

using rmgr::Error;
using rmgr::Millis;
using rmgr::ProcessStatus;
using rmgr::Status;
using Clock = std::chrono::steady_clock;

constexpr const char* before_name = "before";
constexpr const char* after_name = "after";
// Given at the release, where others get a secret: hooks have none.
constexpr const char* last_variable = "RUNNER_MANAGER_HOOK";

constexpr int most_tries = 3;
// How long a removal waits for the hook itself before it asks to be called again.
constexpr Millis patience{2'000};
constexpr Millis longest_pause{10'000};
// The supervisor keeps the time; past this much more it is not there any more to do so.
constexpr Millis grace{10'000};
constexpr Millis look_pause{20};

std::string key(std::string_view attempt, const char* name) { return std::string(attempt) + '-' + name; }

std::vector<std::string> environment_of(const HookSubject& subject) {
  const auto variable = [](const char* name, std::string_view value) {
    return "RUNNER_MANAGER_" + std::string(name) + '=' + std::string(value);
  };
  return {"LANG=C.UTF-8",
          "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
          variable("ACCOUNT", subject.account),
          variable("ATTEMPT", subject.attempt),
          variable("POLICY", subject.policy),
          variable("RUNNER", subject.runner),
          variable("RUNTIME", subject.runtime)};
}

std::string title(const char* name, const HookCommand& hook) {
  return "The hook " + std::string(name) + " (" + hook.command.front() + ")";
}

// Empty if it ended well.
std::string what_went_wrong(const HookCommand& hook, const rmgr::ProcessState& state) {
  if (state.signal != 0) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(hook.timeout).count();
    return "was ended by signal " + std::to_string(state.signal) + ", as one is that takes longer than its " +
           std::to_string(seconds) + " s";
  }
  return state.exit_code == 0 ? std::string() : "ended with " + std::to_string(state.exit_code);
}

}  // namespace

void Hooks::check(const HookSettings& settings) {
  for (const auto& hook : {settings.before, settings.after}) {
    if (hook) check_hook_file(hook->command.front());
  }
}

// The identity is durable before anything runs, so that a restart finds what was begun.
void Hooks::begin(const rmgr::Call& call, const char* name, const HookCommand& hook,
                  const HookSubject& subject, HookState& state) {
  check_hook_file(hook.command.front());
  const std::string process_key = key(subject.attempt, name);
  host_.process().forget(process_key);
  rmgr::ProcessSpec spec;
  spec.key = process_key;
  spec.argv = hook.command;
  spec.environment = environment_of(subject);
  spec.directory = "/";
  spec.time_limit = hook.timeout;
  state.process = host_.process().spawn_held(call, spec);
  RMGR_CRASH_POINT_OF("native.hook.held.", name);
  try {
    ledger_.put(subject.attempt, state);
    RMGR_CRASH_POINT_OF("native.hook.recorded.", name);
    host_.process().release(call, process_key, *state.process, last_variable,
                            rmgr::SecretView(std::string_view(name)));
  } catch (const Error&) {
    host_.process().stop(call, process_key, *state.process, Millis(0));
    throw;
  }
  RMGR_CRASH_POINT_OF("native.hook.released.", name);
}

void Hooks::before(const rmgr::Call& call, const HookSettings& settings, const HookSubject& subject) {
  const auto known = ledger_.find(subject.attempt);
  if (known && known->stage != HookStage::before) return;
  if (!settings.before && !settings.after && !known) return;
  const std::string process_key = key(subject.attempt, before_name);
  if (known && known->process) host_.process().stop(call, process_key, *known->process, Millis(0));
  HookState state{HookStage::before, 0, {}};
  if (settings.before) {
    const HookCommand& hook = *settings.before;
    begin(call, before_name, hook, subject, state);
    rmgr::ProcessState seen;
    try {
      const auto over = Clock::now() + hook.timeout + grace;
      for (;;) {
        seen = host_.process().inspect(call, process_key, *state.process);
        if (seen.status == ProcessStatus::exited || seen.status == ProcessStatus::missing) break;
        call.check();
        if (Clock::now() >= over) throw Error(Status::retry, title(before_name, hook) + " does not end.");
        std::this_thread::sleep_for(look_pause);
      }
    } catch (const Error&) {
      host_.process().stop(call, process_key, *state.process, Millis(0));
      throw;
    }
    std::string wrong = seen.status == ProcessStatus::missing ? "did not run" : what_went_wrong(hook, seen);
    if (!wrong.empty()) {
      note_failure(before_name, subject, title(before_name, hook) + ' ' + wrong);
      throw Error(Status::retry, title(before_name, hook) + ' ' + wrong +
                                     "; nothing was registered, and it is tried again.");
    }
    note_success(before_name, subject);
    RMGR_CRASH_POINT("native.hook.before.ended");
  }
  ledger_.put(subject.attempt, HookState{HookStage::ready, 0, {}});
}

void Hooks::after(const rmgr::Call& call, const HookSettings& settings, const HookSubject& subject) {
  auto state = ledger_.find(subject.attempt);
  if (!state || state->stage == HookStage::done) return;
  if (state->stage == HookStage::before && state->process)
    host_.process().stop(call, key(subject.attempt, before_name), *state->process, Millis(0));
  const bool begun = state->stage == HookStage::after && state->process;
  if (!settings.after) {
    if (begun) host_.process().stop(call, key(subject.attempt, after_name), *state->process, Millis(0));
    return;
  }
  const HookCommand& hook = *settings.after;
  if (begun && conclude(call, hook, subject, *state)) return;
  if (!begun) state = HookState{HookStage::after, 0, {}};
  if (begin_after(call, hook, subject, *state) && !conclude(call, hook, subject, *state))
    throw Error(Status::retry, title(after_name, hook) + " ended before it ran; it is begun again.");
}

bool Hooks::begin_after(const rmgr::Call& call, const HookCommand& hook, const HookSubject& subject,
                        HookState& state) {
  if (state.tries >= most_tries) {
    note_failure(after_name, subject,
                 title(after_name, hook) + " was begun " + std::to_string(most_tries) +
                     " times and never seen to end");
    finish(subject, state);
    return false;
  }
  ++state.tries;
  try {
    begin(call, after_name, hook, subject, state);
    return true;
  } catch (const Error& error) {
    int failures = 0;
    {
      const std::lock_guard lock(mutex_);
      failures = ++watch(subject.attempt).failures;
    }
    // A hook must not keep what a job left from being cleaned, least of all a full disk.
    if (error.status() != Status::invalid && failures < most_tries) {
      throw Error(Status::retry, title(after_name, hook) + " could not be started: " + error.what(),
                  error.retry_after());
    }
    note_failure(after_name, subject, title(after_name, hook) + " could not be started: " + error.what());
    finish(subject, state);
    return false;
  }
}

bool Hooks::conclude(const rmgr::Call& call, const HookCommand& hook, const HookSubject& subject,
                     const HookState& state) {
  const std::string process_key = key(subject.attempt, after_name);
  const auto patient_until = Clock::now() + patience;
  for (;;) {
    const rmgr::ProcessState seen = host_.process().inspect(call, process_key, *state.process);
    if (seen.status == ProcessStatus::missing) return false;
    if (seen.status == ProcessStatus::exited) {
      if (seen.signal == 0 && seen.exit_code < 0) return false;
      RMGR_CRASH_POINT("native.hook.after.ended");
      const std::string wrong = what_went_wrong(hook, seen);
      if (wrong.empty())
        note_success(after_name, subject);
      else
        note_failure(after_name, subject, title(after_name, hook) + ' ' + wrong);
      finish(subject, state);
      return true;
    }
    Watch seen_so_far;
    {
      const std::lock_guard lock(mutex_);
      Watch& mine = watch(subject.attempt);
      if (mine.looks == 0) mine.since = Clock::now();
      ++mine.looks;
      seen_so_far = mine;
    }
    if (Clock::now() - seen_so_far.since >= hook.timeout + grace || seen.status == ProcessStatus::prepared) {
      host_.process().stop(call, process_key, *state.process, Millis(0));
      continue;
    }
    call.check();
    if (Clock::now() >= patient_until) {
      const auto ran = std::chrono::duration_cast<Millis>(Clock::now() - seen_so_far.since);
      throw Error(Status::retry, title(after_name, hook) + " still runs; its attempt is cleaned after it.",
                  std::clamp<Millis>(ran / 4, Millis(1'000), longest_pause));
    }
    std::this_thread::sleep_for(look_pause);
  }
}

// Not to be able to write it down costs a second run after a crash, but never the cleaning.
void Hooks::finish(const HookSubject& subject, HookState state) {
  state.stage = HookStage::done;
  try {
    ledger_.put(subject.attempt, state);
  } catch (const Error& error) {
    host_.log().warning(std::string("The end of a hook could not be recorded: ") + error.what());
  }
  RMGR_CRASH_POINT("native.hook.after.done");
}

void Hooks::forget(std::string_view attempt) {
  // In this order: a row without the record of its process looks like a hook whose end nobody knows, which
  // would run again.
  ledger_.remove(attempt);
  for (const char* name : {before_name, after_name})
    host_.process().forget(key(attempt, name));
  const std::lock_guard lock(mutex_);
  const auto found = watches_.find(attempt);
  if (found != watches_.end()) watches_.erase(found);
}

std::string Hooks::note(std::string_view policy) const {
  const std::lock_guard lock(mutex_);
  std::string all;
  for (const char* name : {before_name, after_name}) {
    const auto found = failed_.find(std::string(name) + ' ' + std::string(policy));
    if (found != failed_.end()) all += (all.empty() ? "" : " ") + found->second + ".";
  }
  return all;
}

void Hooks::note_failure(const char* name, const HookSubject& subject, const std::string& what) {
  host_.log().warning(what + "; policy " + std::string(subject.policy) + ", attempt " +
                      std::string(subject.attempt.substr(0, 8)) + '.');
  const std::lock_guard lock(mutex_);
  failed_[std::string(name) + ' ' + std::string(subject.policy)] = what;
}

void Hooks::note_success(const char* name, const HookSubject& subject) {
  const std::lock_guard lock(mutex_);
  failed_.erase(std::string(name) + ' ' + std::string(subject.policy));
}

Hooks::Watch& Hooks::watch(std::string_view attempt) {
  const auto found = watches_.find(attempt);
  return found != watches_.end() ? found->second : watches_.emplace(attempt, Watch{}).first->second;
}

}  // namespace native
