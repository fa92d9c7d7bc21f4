// The template against a host of its own: once scripted, once with real processes. Any test framework would
// do; this one is two lines, so that the template needs none.
#include <cstdio>
#include <fstream>
#include <string>

#include "rmgr/testing/host.hpp"
#include "rmgr/testing/real_processes.hpp"

namespace {

int failures = 0;
#define CHECK(what) \
  if (!(what)) ++failures, std::fprintf(stderr, "%s:%d: this does not hold: %s\n", __FILE__, __LINE__, #what)

using rmgr::EnvironmentStatus;
using rmgr::Status;
using rmgr::testing::Attempt;
using rmgr::testing::CallControl;
using rmgr::testing::Host;
using rmgr::testing::Provider;

constexpr const char* defaults = R"({"nice": 0, "search_path": "/usr/local/bin:/usr/bin:/bin"})";
constexpr const char* jit = "one-time-configuration";

void expect_no_violations(const Host& host) {
  for (const std::string& violation : host.violations()) {
    ++failures;
    std::fprintf(stderr, "the contract was broken: %s\n", violation.c_str());
  }
}

Provider provider_of(const Host& host, const char* config = defaults) {
  return host.load(rmgr_plugin_entry).provider("runners", config);
}

void test_configuration() {
  Host host;
  for (const char* bad :
       {"", "[]", R"({"nice": 20})", R"({"nice": "5"})", R"({"other": 1})", R"({"nice": 1} {})"}) {
    bool refused = false;
    try {
      (void)provider_of(host, bad);
    } catch (const rmgr::Error& error) {
      refused = error.status() == Status::invalid;
    }
    CHECK(refused);
  }
  expect_no_violations(host);
}

void test_probe() {
  Host host;
  Provider provider = provider_of(host);
  CHECK(provider.probe().value.readiness == rmgr::Readiness::ready);
  rmgr::Profile profile;
  profile.image = "ubuntu";
  CHECK(provider.probe(profile).value.readiness == rmgr::Readiness::image_unavailable);
  profile = {};
  profile.memory_bytes = 1 << 30;
  CHECK(provider.probe(profile).value.readiness == rmgr::Readiness::unsupported);
  profile = {};
  profile.disk_bytes = 1;
  CHECK(provider.probe(profile).value.readiness == rmgr::Readiness::disk_quota_unavailable);
  expect_no_violations(host);
}

void test_a_whole_life() {
  Host host;
  Provider provider = provider_of(host, R"({"nice": 5, "search_path": "/opt/tools:/bin"})");
  Attempt attempt = host.attempt();
  CHECK(provider.inspect(attempt).value.status == EnvironmentStatus::missing);
  CHECK(provider.prepare(attempt).ok());
  CHECK(provider.prepare(attempt).ok());
  CHECK(provider.inspect(attempt).value.status == EnvironmentStatus::prepared);
  CHECK(provider.owns(attempt, attempt.environment));
  CHECK(!provider.owns(attempt, "template:00000000"));
  CHECK(provider.hold(attempt).ok());
  CHECK(provider.inspect(attempt).value.status == EnvironmentStatus::prepared);

  const auto spec = host.scripted_processes().spec(attempt.attempt);
  CHECK(spec && spec->argv.size() == 5 && spec->argv[0] == "/usr/bin/nice" && spec->argv[2] == "5");
  CHECK(spec && spec->argv[3] == attempt.package + "/bin/Runner.Listener" && spec->argv[4] == "run");
  CHECK(spec && spec->environment.front() == "PATH=/opt/tools:/bin");

  CHECK(provider.start(attempt, jit).ok());
  CHECK(host.scripted_processes().got_secret(attempt.attempt, "ACTIONS_RUNNER_INPUT_JITCONFIG", jit));
  CHECK(provider.inspect(attempt).value.status == EnvironmentStatus::running);
  host.scripted_processes().exit(attempt.attempt, 3);
  const auto ended = provider.inspect(attempt).value;
  CHECK(ended.status == EnvironmentStatus::exited && ended.exit_code == 3 && !ended.clean);
  CHECK(provider.stop(attempt).ok());
  CHECK(provider.remove(attempt).ok());
  CHECK(provider.remove(attempt).ok());
  CHECK(host.scripted_processes().known() == 0);
  CHECK(host.kv("runners").empty());
  CHECK(provider.enumerate_owned(attempt.host).value.empty());
  expect_no_violations(host);
}

void test_a_restart_in_between() {
  Host host;
  Attempt attempt = host.attempt();
  {
    Provider before = provider_of(host);
    CHECK(before.prepare(attempt).ok() && before.hold(attempt).ok() && before.start(attempt, jit).ok());
  }
  Provider after = provider_of(host);
  CHECK(after.inspect(attempt).value.status == EnvironmentStatus::running);
  const auto owned = after.enumerate_owned(attempt.host).value;
  CHECK(owned.size() == 1 && owned.front().environment == attempt.environment);
  CHECK(after.enumerate_owned("another-host").value.empty());
  Attempt unknown_environment = attempt;
  unknown_environment.environment.clear();
  CHECK(after.recover(unknown_environment).value.size() == 1);
  Attempt other = Host::next_generation(attempt);
  CHECK(after.recover(other).value.empty());
  CHECK(after.prepare(other).status == Status::exists);
  CHECK(after.remove(other).ok());  // of that generation nothing is there, and this one's stays
  CHECK(after.inspect(attempt).value.status == EnvironmentStatus::running);
  CHECK(after.stop(attempt).ok() && after.remove(attempt).ok());
  expect_no_violations(host);
}

void test_failures() {
  using rmgr::testing::ProcessStep;
  Host host;
  Provider provider = provider_of(host);
  auto& processes = host.scripted_processes();

  Attempt attempt = host.attempt();
  CHECK(provider.hold(attempt).status == Status::not_found);
  CHECK(!provider.start(attempt, jit).value.process_existed);
  CHECK(provider.prepare(attempt).ok() && provider.hold(attempt).ok());
  // Certain that nothing ran, or not: the answer must say which.
  processes.fail_next(ProcessStep::release, {Status::invalid, "No such program."});
  const auto clean = provider.start(attempt, jit);
  CHECK(!clean.ok() && !clean.value.process_existed);

  attempt = host.attempt();
  CHECK(provider.prepare(attempt).ok() && provider.hold(attempt).ok());
  processes.fail_next(ProcessStep::release, {Status::retry, "The supervisor did not answer."});
  processes.refuse_to_stop();
  const auto dirty = provider.start(attempt, jit);
  CHECK(!dirty.ok() && dirty.value.process_existed && dirty.value.live_pid == attempt.process->pid);
  CHECK(provider.stop(attempt).status == Status::busy);
  CHECK(provider.remove(attempt).status == Status::retry);
  processes.refuse_to_stop(false);
  CHECK(provider.remove(attempt).ok());

  attempt = host.attempt();
  CHECK(provider.prepare(attempt).ok() && provider.hold(attempt).ok());
  processes.fail_next(ProcessStep::inspect, {Status::retry, "The state cannot be proven."});
  CHECK(provider.inspect(attempt).status == Status::retry);  // never "missing"
  processes.vanish(attempt.attempt);
  CHECK(provider.inspect(attempt).value.status == EnvironmentStatus::missing);
  expect_no_violations(host);
}

void test_real_processes() {
  rmgr::testing::HostOptions options;
  options.processes = std::make_shared<rmgr::testing::RealProcesses>();
  Host host(options);
  // The library on the disk, as the daemon would load it.
  Provider provider = host.load(std::string(RMGR_PLUGIN_LIBRARY)).provider("runners", defaults);
  Attempt attempt =
      host.attempt("#!/bin/sh\necho \"$1 $HOME $ACTIONS_RUNNER_INPUT_JITCONFIG\" > seen\nexit 7\n");
  CHECK(provider.prepare(attempt).ok() && provider.hold(attempt).ok());
  CHECK(provider.start(attempt, jit).ok());
  rmgr::EnvironmentState state;
  for (int look = 0; look < 3'000 && state.status != EnvironmentStatus::exited; ++look) {
    state = provider.inspect(attempt).value;
    std::this_thread::sleep_for(rmgr::Millis{10});
  }
  CHECK(state.status == EnvironmentStatus::exited && state.exit_code == 7);
  std::string seen;
  std::getline(std::ifstream(attempt.runtime + "/seen") >> std::ws, seen);
  CHECK(seen == "run " + attempt.runtime + "/_home " + jit);
  CHECK(provider.remove(attempt).ok());

  Attempt endless = host.attempt("#!/bin/sh\nwhile :; do sleep 1; done\n");
  CHECK(provider.prepare(endless).ok() && provider.hold(endless).ok() && provider.start(endless, jit).ok());
  CHECK(provider.inspect(endless).value.status == EnvironmentStatus::running);
  CHECK(provider.stop(endless, rmgr::Millis{100}).ok());
  CHECK(provider.inspect(endless).value.status == EnvironmentStatus::exited);
  CHECK(provider.remove(endless).ok());
  expect_no_violations(host);
}

}  // namespace

int main() {
  test_configuration();
  test_probe();
  test_a_whole_life();
  test_a_restart_in_between();
  test_failures();
  test_real_processes();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
