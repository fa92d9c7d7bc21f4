// recovery: the process that made something is killed, and a fresh one has to find and end it.
#include "conform/attempt.hpp"

namespace rmgr::conform {
namespace {

void expect_gone(Provider& provider, const Attempt& attempt) {
  const std::int32_t after = provider.state(attempt).state;
  expect(after == RMGR_ENVIRONMENT_MISSING, "It is " + state_name(after) + " after remove.");
  std::vector<Owned> left;
  const Answer answer = provider.enumerate(attempt.host, left);
  expect(answer.ok() && left.empty(), "enumerate_owned lists an attempt that was removed.");
  Attempt lost = attempt;
  lost.environment.clear();
  const Answer recovered = provider.recover(lost, left);
  expect(recovered.ok() && left.empty(), "recover finds an attempt that was removed.");
}

// The daemon ended before it had written down what prepare answered.
std::string after_prepare(Context& context) {
  Provider provider(context);
  if (context.phase == 0) {
    provider.need_ready(context);
    Attempt attempt = make_attempt(context, Mode::waits);
    const Answer answer = provider.prepare(attempt);
    expect(answer.ok(), answer.text() + ".");
    attempt.save(context);
    die();
  }
  Attempt attempt = Attempt::saved(context);
  Attempt lost = attempt;
  lost.environment.clear();
  std::vector<Owned> candidates;
  const Answer answer = provider.recover(lost, candidates);
  expect(answer.ok(), answer.text() + ".");
  for (const Owned& one : candidates) {
    expect(one.attempt == attempt.attempt && one.generation == attempt.generation,
           "recover answered a resource of another attempt.");
    expect(attempt.environment.empty() || one.environment == attempt.environment,
           "recover answered another environment than prepare did.");
  }
  provider.removed(candidates.empty() ? lost : attempt);
  expect_gone(provider, attempt);
  return "What was prepared was found and removed by a fresh process.";
}

std::string after_hold(Context& context) {
  Provider provider(context);
  if (context.phase == 0) {
    provider.need_ready(context);
    if (!provider.holds()) skip("It does not hold processes.");
    Attempt attempt = make_attempt(context, Mode::waits);
    provider.prepared(attempt);
    attempt.save(context);
    die();
  }
  const Attempt attempt = Attempt::saved(context);
  const std::int32_t now = provider.state(attempt).state;
  expect(now == RMGR_ENVIRONMENT_PREPARED || now == RMGR_ENVIRONMENT_MISSING,
         "It is " + state_name(now) + " although it was never started.");
  provider.stopped(attempt);
  provider.removed(attempt);
  expect_gone(provider, attempt);
  return "What was held was removed by a fresh process and never ran.";
}

// The first phase: a runner that would end with that code runs, and its host dies.
[[noreturn]] void die_beside_a_runner(Context& context, Provider& provider, int ends_with) {
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::waits, ends_with);
  provider.started(attempt);
  expect(provider.await_running(attempt).state == RMGR_ENVIRONMENT_RUNNING, "It does not run after start.");
  attempt.save(context);
  die();
}

std::string after_start(Context& context) {
  Provider provider(context);
  if (context.phase == 0) die_beside_a_runner(context, provider, 21);
  const Attempt attempt = Attempt::saved(context);
  const std::int32_t now = provider.state(attempt).state;
  expect(now == RMGR_ENVIRONMENT_RUNNING || now == RMGR_ENVIRONMENT_STARTING,
         "A fresh process takes the runner, which still runs, for " + state_name(now) + ".");
  provider.stopped(attempt);
  const std::int32_t after = provider.state(attempt).state;
  expect(after == RMGR_ENVIRONMENT_EXITED || after == RMGR_ENVIRONMENT_MISSING,
         "It is " + state_name(after) + " after stop answered ok.");
  provider.removed(attempt);
  expect_gone(provider, attempt);
  return "A running runner was found, stopped and removed by a fresh process.";
}

std::string exit_code(Context& context) {
  Provider provider(context);
  if (context.phase == 0) die_beside_a_runner(context, provider, 23);
  const Attempt attempt = Attempt::saved(context);
  provider.stopped(attempt);
  const rmgr_environment_state seen = provider.state(attempt);
  if (seen.state == RMGR_ENVIRONMENT_MISSING) {
    provider.removed(attempt);
    warn("How a runner ended is not known after a restart.");
  }
  expect(seen.state == RMGR_ENVIRONMENT_EXITED,
         "It is " + state_name(seen.state) + " after stop answered ok.");
  expect(seen.exit_code == 23 || seen.exit_code == -1,
         "The runner ended with 23, but inspect says " + std::to_string(seen.exit_code) + ".");
  provider.removed(attempt);
  return "A fresh process knows how the runner ended.";
}

}  // namespace

Tests recovery_tests() {
  const std::vector<std::string_view> run{"config.accepted", "lifecycle.runs"};
  return {
      {"recovery.prepared", "What was prepared before a crash is found and removed after it.", for_provider,
       &after_prepare, run, 2},
      {"recovery.held", "What was held before a crash never runs and is removed after it.", for_provider,
       &after_hold, run, 2},
      {"recovery.running",
       "What ran at a crash is found running, stopped and removed after it.",
       for_provider,
       &after_start,
       {"config.accepted", "lifecycle.runs", "lifecycle.stops"},
       2},
      {"recovery.exit_code",
       "How a runner ended is known after a crash.",
       for_provider,
       &exit_code,
       {"config.accepted", "lifecycle.runs", "lifecycle.stops", "recovery.running"},
       2},
  };
}

}  // namespace rmgr::conform
