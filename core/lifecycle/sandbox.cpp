// Looking at a sandbox, and its end: proven step by step, from what the sandbox itself says it is.
#include <algorithm>

#include "crash_point.hpp"
#include "lifecycle/sandbox.hpp"

namespace agent::lifecycle {

using domain::Attempt;
using domain::EnvironmentView;
using domain::ErrorCode;
using domain::Evidence;
using plugin::Call;
using plugin::OwnedEnvironment;

namespace {

// What a provider says of the job, in the words that its contract gives to that.
constexpr std::string_view kJobRan = "job ran";
constexpr std::string_view kNoJob = "no job";

bool alive(EnvironmentView view) {
  return view == EnvironmentView::running || view == EnvironmentView::starting;
}

Performed still_there(const std::string& message) {
  return failed({.code = ErrorCode::busy, .message = message, .retry_after = domain::Millis{0}});
}

Performed quarantined(const std::string& message) {
  Performed performed =
      failed({.code = ErrorCode::exists, .message = message, .retry_after = domain::Millis{0}});
  std::get<event::Failed>(performed.body).quarantined = true;
  return performed;
}

// Why it is not certain which sandbox is the attempt's; empty if it is.
std::string doubt(const std::vector<OwnedEnvironment>& found, const Attempt& attempt,
                  const domain::InstallationId& host) {
  if (found.empty()) return {};
  if (found.size() > 1) return "several sandboxes bear the attempt's identity";
  const OwnedEnvironment& one = found.front();
  const bool same = one.host == host.str() && one.attempt == attempt.id.str() &&
                    one.generation == attempt.generation.str() && one.image == attempt.policy.profile.image &&
                    (!attempt.environment || one.environment == *attempt.environment);
  return same ? "" : "a sandbox bears the attempt's name and another identity than the one on record";
}

std::string left_alone(const std::string& why) {
  return why + "; none was touched, remove those that are not needed by hand";
}

}  // namespace

Performed destroy_sandbox(Call& call, const plugin::Allocation& allocation,
                          plugin::ExecutionProvider& provider) {
  const Attempt& attempt = *allocation.attempt;
  auto found = provider.recover(call, allocation);
  if (!found) return failed(found.error());
  if (const std::string why = doubt(*found, attempt, allocation.host); !why.empty())
    return quarantined(left_alone(why));
  if (!found->empty() && !attempt.environment)
    return {event::SandboxFound{.environment = found->front().environment}, {}, {}};

  auto state = provider.inspect(call, allocation);
  if (!state) return failed(state.error());
  if (state->view != EnvironmentView::missing) {
    if (!attempt.environment || !provider.owns(call, allocation, *attempt.environment))
      return quarantined(left_alone("the sandbox does not bear the attempt's identity"));
    if (alive(state->view)) {
      auto stopped = provider.stop(call, allocation, attempt.policy.timeouts.stop_grace);
      if (!stopped) return failed(stopped.error());
    }
  }
  RMGR_CRASH_POINT("effect.destroy.stopped");
  // Also where nothing was found: a part of a sandbox that is not the sandbox may be left.
  if (auto removed = provider.remove(call, allocation); !removed) return failed(removed.error());
  RMGR_CRASH_POINT("effect.destroy.after");
  state = provider.inspect(call, allocation);
  if (!state) return failed(state.error());
  if (state->view != EnvironmentView::missing)
    return still_there("the sandbox is still there after its removal");
  found = provider.recover(call, allocation);
  if (!found) return failed(found.error());
  if (!found->empty()) return still_there("the sandbox is still listed after its removal");
  return {event::Destroyed{}, {}, {}};
}

EnvironmentLook look_at_sandbox(Call& call, const plugin::Allocation& allocation,
                                plugin::ExecutionProvider& provider) {
  const auto state = provider.inspect(call, allocation);
  if (!state) return {};
  EnvironmentLook look{.view = state->view,
                       .clean = state->clean,
                       .exit_code = state->exit_code,
                       .out_of_memory = state->out_of_memory,
                       .evidence = Evidence::unknown};
  if (!alive(look.view) && look.view != EnvironmentView::exited) return look;
  // A short job may have left its only trace there, so without it nothing is known.
  const auto lines = provider.diagnostics(call, allocation);
  if (!lines) return {};
  const auto says = [&lines](std::string_view word) {
    return std::find(lines->begin(), lines->end(), word) != lines->end();
  };
  if (says(kJobRan))
    look.evidence = Evidence::ran;
  else if (says(kNoJob))
    look.evidence = Evidence::no_job;
  return look;
}

}  // namespace agent::lifecycle
