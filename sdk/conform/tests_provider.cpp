// lifecycle and idempotence of execution providers.
#include <algorithm>

#include <filesystem>
#include <fstream>

#include "conform/attempt.hpp"
#include "conform/leaks.hpp"

namespace rmgr::conform {
namespace {

void expect_state(const rmgr_environment_state& seen, std::int32_t wanted, const std::string& when) {
  expect(seen.state == wanted,
         "It is " + state_name(seen.state) + " instead of " + state_name(wanted) + " " + when + ".");
}

void expect_exit(const rmgr_environment_state& seen, int code, const std::string& whose) {
  expect_state(seen, RMGR_ENVIRONMENT_EXITED, "after the runner ended");
  expect(seen.exit_code == code, whose + " ended with " + std::to_string(seen.exit_code) + " instead of " +
                                     std::to_string(code) +
                                     ", the code in its secret (99: it got none of ours).");
  expect((seen.clean != 0) == (code == 0), "clean says the opposite of the exit code.");
}

std::string probes(Context& context) {
  Provider provider(context);
  std::int32_t first = -1;
  for (int i = 0; i < context.plan.repeat; ++i) {
    rmgr_probe answer{};
    answer.readiness = -1;
    std::string remedy;
    const Answer probed = provider.probe(answer, remedy);
    expect(probed.ok(), probed.text() + ".");
    expect(answer.readiness >= RMGR_PROBE_READY && answer.readiness <= RMGR_PROBE_DEGRADED,
           "probe answered ok without a known readiness.");
    expect(answer.readiness == RMGR_PROBE_READY || !remedy.empty(),
           "probe says that it is not ready and gives no remedy.");
    if (first < 0) first = answer.readiness;
    expect(first == answer.readiness, "probe answers differently each time.");
  }
  if (first != RMGR_PROBE_READY) warn("It is not ready on this machine, so most tests are skipped.");
  return "probe says that it is ready.";
}

std::string runs(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::ends, 37);
  expect_state(provider.state(attempt), RMGR_ENVIRONMENT_MISSING, "before it was prepared");
  const Answer prepared = provider.prepare(attempt);
  expect(prepared.ok(), prepared.text() + ".");
  expect_state(provider.state(attempt), RMGR_ENVIRONMENT_PREPARED, "after prepare");
  if (provider.holds()) {
    const Answer held = provider.hold(attempt);
    expect(held.ok() && attempt.pid > 0, held.text() + " without a process identity.");
    expect_state(provider.state(attempt), RMGR_ENVIRONMENT_PREPARED, "while it is held");
  }
  rmgr_start_result result{};
  const Answer started = provider.start(attempt, result);
  expect(started.ok(), started.text() + ".");
  expect_exit(provider.await_exit(attempt), 37, "The runner");
  provider.removed(attempt);
  expect_state(provider.state(attempt), RMGR_ENVIRONMENT_MISSING, "after remove");
  return "An attempt was prepared, started, seen to end with 37, and removed.";
}

std::string stops(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  for (const Mode mode : {Mode::waits, Mode::deaf}) {
    Attempt attempt = make_attempt(context, mode, 5);
    provider.started(attempt);
    expect_state(provider.await_running(attempt), RMGR_ENVIRONMENT_RUNNING, "after start");
    const Answer answer = provider.stop(attempt, Millis(mode == Mode::deaf ? 300 : 5'000));
    expect(answer.ok(), answer.text() + (mode == Mode::deaf ? " for a runner that has to be killed." : "."));
    const std::int32_t after = provider.state(attempt).state;
    expect(after == RMGR_ENVIRONMENT_EXITED || after == RMGR_ENVIRONMENT_MISSING,
           "It is " + state_name(after) + " after stop answered ok.");
    provider.removed(attempt);
  }
  return "A running runner was stopped, and one that ignores the request was killed.";
}

std::string removes_running(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::waits);
  provider.started(attempt);
  expect_state(provider.await_running(attempt), RMGR_ENVIRONMENT_RUNNING, "after start");
  Answer answer = provider.remove(attempt);
  for (int i = 0; i < 50 && answer.status == RMGR_E_RETRY; ++i) {
    std::this_thread::sleep_for(Millis(100));
    answer = provider.remove(attempt);
  }
  expect(answer.ok(), answer.text() + ".");
  expect_state(provider.state(attempt), RMGR_ENVIRONMENT_MISSING, "after remove");
  return "remove ended a runner that still ran.";
}

std::string held_only(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  if (!provider.holds()) skip("It does not hold processes.");
  Attempt attempt = make_attempt(context, Mode::waits);
  provider.prepared(attempt);
  std::this_thread::sleep_for(Millis(200));
  expect_state(provider.state(attempt), RMGR_ENVIRONMENT_PREPARED, "although it was only held");
  provider.stopped(attempt);
  const std::int32_t after = provider.state(attempt).state;
  expect(after == RMGR_ENVIRONMENT_MISSING || after == RMGR_ENVIRONMENT_EXITED ||
             after == RMGR_ENVIRONMENT_PREPARED,
         "It is " + state_name(after) + " after a held process was stopped.");
  provider.removed(attempt);
  expect_state(provider.state(attempt), RMGR_ENVIRONMENT_MISSING, "after remove");
  return "A held process ran nothing and was removed.";
}

std::string own_secret(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  std::vector<Attempt> attempts;
  for (int i = 0; i < 3; ++i) {
    attempts.push_back(make_attempt(context, Mode::ends, 40 + i));
    Attempt& attempt = attempts.back();
    const Answer prepared = provider.prepare(attempt);
    if (i > 0 && prepared.status == RMGR_E_RETRY) {
      attempts.pop_back();
      break;  // it has room for no more
    }
    expect(prepared.ok(), prepared.text() + ".");
    if (provider.holds()) expect(provider.hold(attempt).ok(), "hold failed.");
  }
  if (attempts.size() < 2) skip("It has room for one attempt only.");
  for (const Attempt& attempt : attempts) {
    rmgr_start_result result{};
    const Answer started = provider.start(attempt, result);
    expect(started.ok(), started.text() + ".");
  }
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    expect_exit(provider.await_exit(attempts[i]), 40 + static_cast<int>(i),
                "Runner " + std::to_string(i + 1));
    provider.removed(attempts[i]);
  }
  return std::to_string(attempts.size()) + " attempts at once each got their own secret.";
}

void check_owned(const std::vector<Owned>& found, const Attempt& attempt, const std::string& who) {
  for (const Owned& one : found)
    expect(one.host == attempt.host && one.attempt == attempt.attempt && one.generation == attempt.generation,
           who + " answered a resource with the identity of another attempt.");
}

std::string ownership(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::waits);
  provider.prepared(attempt);
  std::vector<Owned> owned;
  Answer answer = provider.enumerate(attempt.host, owned);
  expect(answer.ok(), answer.text() + ".");
  check_owned(owned, attempt, "enumerate_owned");
  std::vector<Owned> others;
  answer = provider.enumerate("another-host", others);
  expect(answer.ok() && others.empty(), "enumerate_owned answers another host what is not its own.");
  std::vector<Owned> recovered;
  answer = provider.recover(attempt, recovered);
  expect(answer.ok(), answer.text() + ".");
  check_owned(recovered, attempt, "recover");
  Attempt other = attempt;
  other.generation = random_hex(32);
  expect(!provider.owns(other, attempt.environment),
         "owns takes another generation of the attempt for the same.");
  if (!attempt.environment.empty() && !owned.empty())
    expect(provider.owns(attempt, attempt.environment), "owns denies the resource that prepare made.");
  provider.removed(attempt);
  owned.clear();
  expect(provider.enumerate(attempt.host, owned).ok() && owned.empty(),
         "enumerate_owned lists a removed attempt.");
  return "Its resources carry exactly the identity of their attempt.";
}

std::string hygiene_secret(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::waits);
  const std::string needle = attempt.secret.substr(0, attempt.secret.find('.'));
  provider.started(attempt);
  expect_state(provider.await_running(attempt), RMGR_ENVIRONMENT_RUNNING, "after start");
  std::vector<std::string> lines;
  std::vector<Owned> owned;
  provider.diagnostics(attempt, lines);
  provider.recover(attempt, owned);
  provider.enumerate(attempt.host, owned);
  expect_no_leak(context, needle);
  rmgr_start_result result{};
  provider.start(attempt, result);  // a second time: its error must not repeat the secret
  provider.stopped(attempt);
  provider.diagnostics(attempt, lines);
  expect_no_leak(context, needle);
  provider.removed(attempt);
  expect_no_leak(context, needle);
  return "The secret was found in no answer, log line, file, argument or environment of the host.";
}

// --- idempotence

std::string unknown(Context& context) {
  Provider provider(context);
  provider.need_machine();
  const Attempt attempt = make_attempt(context, Mode::waits);
  for (int i = 0; i < context.plan.repeat; ++i) {
    provider.stopped(attempt);
    provider.removed(attempt);
    expect_state(provider.state(attempt), RMGR_ENVIRONMENT_MISSING, "although it was never prepared");
  }
  return "An attempt that never was was stopped and removed " + std::to_string(context.plan.repeat) +
         " times.";
}

std::string prepare_again(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::waits);
  const Answer first = provider.prepare(attempt);
  expect(first.ok(), first.text() + ".");
  std::vector<Owned> owned;
  provider.enumerate(attempt.host, owned);
  for (int i = 1; i < context.plan.repeat; ++i) {
    Attempt again = attempt;
    const Answer answer = provider.prepare(again);
    expect(answer.ok(), "Again, " + answer.text() + ".");
    expect(again.environment == attempt.environment,
           "prepare answered another environment for the same attempt.");
  }
  std::vector<Owned> later;
  provider.enumerate(attempt.host, later);
  expect(later.size() == owned.size(), "Preparing again left more than one environment.");
  provider.removed(attempt);
  return "Preparing " + std::to_string(context.plan.repeat) + " times made one environment.";
}

std::string end_again(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::waits);
  provider.started(attempt);
  for (int i = 0; i < context.plan.repeat; ++i) {
    const Answer answer = provider.stop(attempt, Millis(5'000));
    expect(answer.ok(), (i == 0 ? "" : "Again, ") + answer.text() + ".");
  }
  for (int i = 0; i < context.plan.repeat; ++i) {
    const Answer answer = provider.remove(attempt);
    expect(answer.ok(), (i == 0 ? "" : "Again, ") + answer.text() + ".");
  }
  const Answer answer = provider.stop(attempt, Millis(100));
  expect(answer.ok(), "After remove " + answer.text() + ".");
  expect_state(provider.state(attempt), RMGR_ENVIRONMENT_MISSING, "after remove");
  return "stop and remove succeeded " + std::to_string(context.plan.repeat) + " times each.";
}

std::string look_again(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::ends, 3);
  provider.started(attempt);
  const rmgr_environment_state first = provider.await_exit(attempt);
  for (int i = 0; i < context.plan.repeat; ++i) {
    const rmgr_environment_state again = provider.state(attempt);
    expect(again.state == first.state && again.exit_code == first.exit_code && again.clean == first.clean,
           "inspect answers differently about the same ended runner.");
  }
  provider.removed(attempt);
  return "inspect answered the same " + std::to_string(context.plan.repeat) + " times.";
}

}  // namespace

Tests provider_tests() {
  const std::vector<std::string_view> made{"config.accepted"};
  const std::vector<std::string_view> run{"config.accepted", "lifecycle.runs"};
  return {
      {"lifecycle.probe", "probe answers a readiness, and a remedy where it is not ready.", for_provider,
       &probes, made},
      {"lifecycle.runs",
       "An attempt goes from prepare to remove, and its runner ends with its own code.",
       for_provider,
       &runs,
       {"config.accepted", "lifecycle.probe"}},
      {"lifecycle.stops", "A running runner is asked to end, and killed if it does not.", for_provider,
       &stops, run},
      {"lifecycle.removes_running", "remove also ends what runs.", for_provider, &removes_running, run},
      {"lifecycle.held_only", "A held process runs nothing before start.", for_provider, &held_only, run},
      {"lifecycle.own_secret", "Attempts at the same time each get their own secret.", for_provider,
       &own_secret, run},
      {"lifecycle.ownership", "What is enumerated, recovered and owned carries the attempt's identity.",
       for_provider, &ownership, run},
      {"hygiene.secret", "The one-time secret reaches the runner and no other place.", for_provider,
       &hygiene_secret, run},
      {"idempotence.unknown", "Stopping and removing what never was succeeds.", for_provider, &unknown, made},
      {"idempotence.prepare", "Preparing again answers the same.", for_provider, &prepare_again, run},
      {"idempotence.end", "Stopping and removing again succeeds.", for_provider, &end_again, run},
      {"idempotence.inspect", "Looking again answers the same.", for_provider, &look_again, run},
  };
}

}  // namespace rmgr::conform
