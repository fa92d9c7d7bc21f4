// errors: how a component fails.
#include "conform/attempt.hpp"
#include "conform/clients.hpp"
#include "conform/script.hpp"

namespace rmgr::conform {
namespace {

std::string contained(Context& context) {
  provoke(context);
  const std::string where = witness().first(Breach::threw);
  expect(where.empty(), "An exception left " + where + "; none may cross the boundary.");
  return "No exception crossed the boundary.";
}

std::string status(Context& context) {
  provoke(context);
  const std::string where = witness().first(Breach::unknown_status);
  expect(where.empty(), where + ", which is no status.");
  return "Every status was in the closed set.";
}

std::string once(Context& context) {
  provoke(context);
  const std::string where = witness().first(Breach::explained_twice);
  expect(where.empty(), where + " explained its error twice.");
  return "Every error was explained at most once.";
}

std::string utf8(Context& context) {
  provoke(context);
  const std::string where = witness().first(Breach::not_utf8);
  expect(where.empty(), where + " is not UTF-8.");
  return "Every message was UTF-8.";
}

std::string explained(Context& context) {
  provoke(context);
  const std::string success = witness().first(Breach::explained_success);
  expect(success.empty(), success + " explained an error and answered ok.");
  const std::string silent = witness().first(Breach::unexplained);
  if (!silent.empty()) warn(silent + " failed and did not say why.");
  return "Every failure was explained.";
}

std::string start_result(Context& context) {
  Provider provider(context);
  const Attempt attempt = make_attempt(context, Mode::waits);
  rmgr_start_result result{};
  const Answer answer = provider.start(attempt, result);
  if (provider.holds())
    expect(!answer.ok(), "start answered ok for an attempt that was never prepared or held.");
  expect(result.process_existed == 0 || result.process_existed == 1,
         "start did not fill in its result when it failed.");
  expect(result.live_pid >= 0, "start did not fill in the live pid of its result when it failed.");
  return "start filled in its result although it failed.";
}

// Sinks that take nothing.
std::string refused(Context& context) {
  Answer answer;
  bool wrote = true;
  if (context.interface == "execution-provider") {
    Provider provider(context);
    Operation operation("probe");
    operation.state().refuse_from(0);
    const auto* sink = operation.sink<rmgr_probe_sink, rmgr_probe>([](CallState&, const rmgr_probe&) {});
    const auto* profile = shaped(rmgr_profile{});
    answer = operation.run([&] {
      return provider.table<rmgr_execution_provider>().probe(provider.handle(), operation.call(), profile,
                                                             sink, operation.error());
    });
  } else if (context.interface == "gateway") {
    GatewayClient gateway(context);
    int jobs = 0;
    const Answer full = gateway.demand(jobs);
    wrote = full.ok() && jobs > 0;
    gateway.refuse_next();
    answer = gateway.demand(jobs);
  } else {
    SourceClient source(context);
    const Package package = source.first();
    std::vector<Package> packages;
    source.refuse_next();
    answer = source.catalog(packages);
    expect(answer.status == RMGR_E_RETRY, "After its sink answered retry " + answer.text() + ".");
    Fetched fetched;
    source.refuse_next();
    answer = source.fetch(package.ref, 0, "", fetched);
  }
  const std::string where = witness().first(Breach::after_refusal);
  expect(where.empty(), where + " went on writing after its sink had refused.");
  if (!wrote) skip("It had nothing to write.");
  expect(answer.status == RMGR_E_RETRY, "After its sink answered retry " + answer.text() + ".");
  return "It stopped when its sink refused, and passed that on.";
}

std::string late(Context& context) {
  call_each(context, {}, [](const Answer&) {});
  provoke(context);
  std::this_thread::sleep_for(Millis(400));
  std::string where = witness().first(Breach::late_write);
  expect(where.empty(), where + " was used after the call had returned.");
  where = witness().first(Breach::after_error);
  expect(where.empty(), where + " wrote to its sink after it had explained an error.");
  return "Nothing of a call was used after it had returned.";
}

// What cannot be looked at is not missing.
std::string missing(Context& context) {
  Provider provider(context);
  provider.need_ready(context);
  Attempt attempt = make_attempt(context, Mode::waits);
  provider.started(attempt);
  expect(provider.await_running(attempt).state == RMGR_ENVIRONMENT_RUNNING, "It does not run after start.");
  rmgr_environment_state state{};
  provider.host().break_services(RMGR_E_RETRY);
  const Answer answer = provider.inspect(attempt, state);
  std::vector<Owned> owned;
  const int during_look = provider.host().broken_uses();
  const Answer listed = provider.enumerate(attempt.host, owned);
  const int during_list = provider.host().broken_uses() - during_look;
  provider.host().break_services(RMGR_OK);
  std::vector<Owned> whole;
  provider.enumerate(attempt.host, whole);
  provider.stopped(attempt);
  provider.removed(attempt);
  expect(!answer.ok() || state.state == RMGR_ENVIRONMENT_RUNNING || state.state == RMGR_ENVIRONMENT_STARTING,
         "When the look at a running runner failed, inspect said " + state_name(state.state) + ".");
  expect(!listed.ok() || owned.size() == whole.size(),
         "When a part could not be read, enumerate_owned answered a shorter list.");
  if (during_look + during_list == 0)
    skip("It looks without the host's services, so its look cannot be made to fail.");
  return "A look that failed was an error.";
}

// A listing that could not be made is not an empty one.
std::string incomplete(Context& context) {
  Answer answer;
  std::size_t count = 0;
  int uses = 0;
  if (context.interface == "gateway") {
    GatewayClient gateway(context);
    std::vector<Runner> runners;
    gateway.host().break_services(RMGR_E_RETRY);
    answer = gateway.inventory(runners);
    count = runners.size();
    uses = gateway.host().broken_uses();
  } else {
    SourceClient source(context);
    std::vector<Package> packages;
    source.host().break_services(RMGR_E_RETRY);
    answer = source.catalog(packages);
    count = packages.size();
    uses = source.host().broken_uses();
  }
  if (uses == 0) skip("It answers without the host's secrets and map, so its look cannot be made to fail.");
  expect(!answer.ok(),
         answer.operation + " answered " + std::to_string(count) + " items although it could not look.");
  return "A listing that could not be made was an error.";
}

}  // namespace

Tests error_tests() {
  const std::vector<std::string_view> made{"config.accepted"};
  const std::vector<std::string_view> then{"config.accepted", "errors.contained"};
  const std::vector<std::string_view> run{"config.accepted", "lifecycle.runs"};
  return {
      {"errors.contained", "No exception crosses the boundary.", for_each, &contained, made},
      {"errors.status", "Every status is in the closed set.", for_each, &status, then},
      {"errors.once", "An error is explained at most once.", for_each, &once, then},
      {"errors.utf8", "Messages are UTF-8.", for_each, &utf8, then},
      {"errors.explained", "A failure is explained, and a success is not.", for_each, &explained, then},
      {"errors.start_result", "start fills in its result also when it fails.", for_provider, &start_result,
       then},
      {"errors.sink_refused", "Nothing is written to a sink that refused, and its status is passed on.",
       for_each, &refused, then},
      {"errors.late", "Sinks, errors and contexts are not used after their call or after an error.", for_each,
       &late, then},
      {"errors.missing", "What cannot be looked at is an error and never missing.", for_provider, &missing,
       run},
      {"errors.incomplete", "A listing that cannot be made is an error and never shorter.",
       for_gateway | for_source, &incomplete, then},
  };
}

}  // namespace rmgr::conform
