// cancel: calls end when they should, however the other side behaves.
#include "conform/attempt.hpp"
#include "conform/child.hpp"
#include "conform/clients.hpp"
#include "conform/script.hpp"

namespace rmgr::conform {
namespace {

// A call that never comes back would only be seen as a test that hangs, so a thread says which one it was.
class Watch {
 public:
  Watch(Millis patience, std::string reason)
      : later_(patience, [reason = std::move(reason)] { fail_now(reason); }) {}

 private:
  Later later_;
};

std::string seconds(Millis time) { return std::to_string(time.count()) + " ms"; }

std::string before(Context& context) {
  const Watch watch(Millis(1'000) * 9 + slack,
                    "Calls that are cancelled before they begin take longer than a second each.");
  int count = 0;
  call_each(context, {Millis(20'000), true}, [&](const Answer&) { ++count; });
  return std::to_string(count) + " calls that were cancelled before they began came back at once.";
}

std::string deadline(Context& context) {
  int count = 0;
  for (const Millis allowed : {Millis(0), Millis(600)}) {
    auto began = std::chrono::steady_clock::now();
    call_each(context, {allowed, false}, [&](const Answer& answer) {
      const auto now = std::chrono::steady_clock::now();
      const auto took = std::chrono::duration_cast<Millis>(now - began);
      began = now;
      ++count;
      expect(took <= allowed + Millis(1'000) + slack,
             answer.operation + " took " + seconds(took) + " with a deadline of " + seconds(allowed) + ".");
    });
  }
  return std::to_string(count) + " calls came back by their deadline.";
}

std::string stop(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::deaf);
  provider.started(attempt);
  expect(provider.await_running(attempt).state == RMGR_ENVIRONMENT_RUNNING, "It does not run after start.");
  Answer answer;
  {
    const Watch watch(Millis(1'300) + slack,
                      "stop did not come back within a second after it was cancelled.");
    answer = provider.stop(attempt, Millis(15'000), {}, Millis(300));
  }
  if (answer.ok()) {
    const std::int32_t now = provider.state(attempt).state;
    expect(now != RMGR_ENVIRONMENT_RUNNING,
           "stop answered ok after it was cancelled, and the runner still runs.");
  }
  const Answer ended = provider.stop(attempt, Millis(0));
  expect(ended.ok(), "After a stop that was cancelled " + ended.text() + ".");
  provider.removed(attempt);
  return "A stop that waits for a runner came back when it was cancelled.";
}

std::string fetch(Context& context) {
  SourceClient source(context);
  const Package package = source.first();
  Fetched fetched;
  const Watch watch(Millis(20'000), "fetch did not come back after it was cancelled.");
  std::chrono::steady_clock::time_point when{};
  const Answer answer = source.fetch(package.ref, 0, "", fetched, {}, [&](CallState& call) {
    if (fetched.chunks != 1) return;
    when = std::chrono::steady_clock::now();
    call.cancel();
  });
  const auto took = std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now() - when);
  if (fetched.chunks == 0) skip("No chunk was sent, so there was nothing to cancel.");
  expect(took <= Millis(1'000) + slack, "fetch went on for " + seconds(took) + " after it was cancelled.");
  expect(answer.ok() || answer.status == RMGR_E_CANCELLED, "After a cancel " + answer.text() + ".");
  expect(
      !answer.ok() || fetched.total < 0 || static_cast<std::int64_t>(fetched.bytes.size()) == fetched.total,
      "fetch answered ok although it was cancelled before the end.");
  return "fetch ended when it was cancelled.";
}

}  // namespace

Tests cancel_tests() {
  return {
      {"cancel.before",
       "A call that is cancelled before it begins comes back at once.",
       for_each,
       &before,
       {"config.accepted"}},
      {"cancel.deadline", "A call comes back by its deadline.", for_each, &deadline, {"config.accepted"}},
      {"cancel.stop",
       "A stop that waits comes back when it is cancelled.",
       for_provider,
       &stop,
       {"config.accepted", "lifecycle.runs", "lifecycle.stops"}},
      {"cancel.fetch",
       "A fetch ends when it is cancelled.",
       for_source,
       &fetch,
       {"config.accepted", "lifecycle.fetch"}},
  };
}

}  // namespace rmgr::conform
