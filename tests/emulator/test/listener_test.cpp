// The emulated runner as a real process against the emulator as a real process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>

#include "test/support.hpp"
#include "wire/text.hpp"

namespace emulator::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<fs::path> files_like(const fs::path& directory, const std::string& pattern) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (glob_match(pattern, entry.path().filename().string())) found.push_back(entry.path());
  }
  return found;
}

bool running(const EmulatorClient& client, std::int64_t job) {
  return client.wait_for_job(job, [](const JobView& view) { return view.started_at_ms != 0; });
}

class RunnerLife : public ::testing::Test {
 protected:
  Stage stage{one_repository()};
  const EmulatorClient& client = stage.emulator.client();
  std::int64_t queue(const std::string& script, const std::vector<std::string>& labels = {"linux"}) {
    return client.queue({.repository = "o/r", .labels = labels, .script = script}).front();
  }
};

TEST_F(RunnerLife, one_job_from_registration_to_removal) {
  fs::path root;
  auto listener = stage.online_listener("one", {"Linux", "X64"}, &root);
  EXPECT_TRUE(files_like(root / "_diag", "Worker_*").empty());
  const auto job =
      queue("echo \"$RUNNER_NAME $GITHUB_REPOSITORY\" > out; test -z \"$ACTIONS_RUNNER_INPUT_JITCONFIG\"",
            {"linux", "x64"});
  EXPECT_EQ(listener->wait(), 0);
  const auto view = client.job(job);
  EXPECT_EQ(view.status, "completed");
  EXPECT_EQ(view.result, "success");
  EXPECT_EQ(view.exit_code, 0);
  EXPECT_EQ(view.starts, 1);
  EXPECT_EQ(view.runner_name, "one");
  EXPECT_GT(view.listener_exec_at_ms, 0);
  EXPECT_LE(view.queued_at_ms, view.assigned_at_ms);
  EXPECT_LE(view.assigned_at_ms, view.started_at_ms);
  EXPECT_LE(view.started_at_ms, view.completed_at_ms);
  EXPECT_EQ(read_file(root / "_work" / "r" / "r" / "out"), "one o/r\n");
  const auto listener_logs = files_like(root / "_diag", "Runner_*-utc.log");
  ASSERT_EQ(listener_logs.size(), 1U);
  EXPECT_THAT(listener_logs.front().filename().string(),
              ::testing::MatchesRegex("Runner_[0-9]{8}-[0-9]{6}-utc.log"));
  EXPECT_EQ(files_like(root / "_diag", "Worker_*-utc.log").size(), 1U);
  for (const char* name : {".runner", ".credentials", ".credentials_rsaparams"}) {
    struct stat status {};
    ASSERT_EQ(::stat((root / name).c_str(), &status), 0) << name;
    EXPECT_EQ(status.st_mode & 0777U, 0600U) << name;
  }
  const auto runner = client.runner(view.runner_id);
  EXPECT_FALSE(runner.registered);
  EXPECT_EQ(runner.removed_by, "ephemeral");
  EXPECT_EQ(runner.version, "2.330.0");
  EXPECT_EQ(client.summary().registrations, 0);
}

TEST_F(RunnerLife, a_failing_script_is_a_failed_job_and_the_listener_still_ends_well) {
  auto listener = stage.online_listener("one", {"linux"});
  const auto job = queue("exit 9");
  EXPECT_EQ(listener->wait(), 0);
  EXPECT_EQ(client.job(job).result, "failure");
  EXPECT_EQ(client.job(job).exit_code, 9);
  EXPECT_EQ(client.summary().failed, 1);
}

TEST_F(RunnerLife, a_job_waits_for_a_runner_that_has_all_its_labels) {
  auto plain = stage.online_listener("plain", {"linux"});
  const auto job = queue("true", {"Linux", "GPU"});
  EXPECT_EQ(client.job(job).status, "queued");
  auto fitting = stage.online_listener("fitting", {"gpu", "linux", "other"});
  EXPECT_EQ(fitting->wait(), 0);
  EXPECT_EQ(client.job(job).runner_name, "fitting");
  EXPECT_FALSE(client.runners().front().busy);
}

TEST_F(RunnerLife, a_runner_of_an_organization_takes_jobs_of_its_repositories_only) {
  client.add_repository("o/second");
  client.add_repository("stranger/r");
  const auto made = client.register_runner("o", "org", {"linux"});
  ListenerProcess listener(stage.fresh_root(), made.encoded_jit_config);
  const auto foreign = client.queue({.repository = "stranger/r", .labels = {"linux"}}).front();
  const auto ours = client.queue({.repository = "o/second", .labels = {"linux"}}).front();
  EXPECT_EQ(listener.wait(), 0);
  EXPECT_EQ(client.job(ours).runner_name, "org");
  EXPECT_EQ(client.job(foreign).status, "queued");
}

TEST_F(RunnerLife, each_job_goes_to_exactly_one_runner) {
  std::vector<std::unique_ptr<ListenerProcess>> listeners;
  listeners.reserve(6);
  for (int i = 0; i < 6; ++i)
    listeners.push_back(stage.online_listener("n" + std::to_string(i), {"linux"}));
  client.queue({.repository = "o/r", .labels = {"linux"}, .count = 6});
  for (auto& listener : listeners)
    EXPECT_EQ(listener->wait(), 0);
  std::set<std::string> runners;
  for (const auto& job : client.jobs()) {
    EXPECT_EQ(job.starts, 1);
    runners.insert(job.runner_name);
  }
  EXPECT_EQ(runners.size(), 6U);
  EXPECT_EQ(client.summary().started_twice, 0);
  EXPECT_EQ(client.summary().completed, 6);
}

TEST_F(RunnerLife, a_configuration_is_used_once) {
  const auto made = client.register_runner("o/r", "one", {"linux"});
  ListenerProcess first(stage.fresh_root(), made.encoded_jit_config);
  ASSERT_TRUE(client.wait_for_runner(made.id, [](const RunnerView& runner) { return runner.online; }));
  ListenerProcess second(stage.fresh_root(), made.encoded_jit_config);
  EXPECT_EQ(second.wait(), 1);
  EXPECT_TRUE(client.runner(made.id).online);
}

TEST_F(RunnerLife, a_directory_of_another_runner_is_refused) {
  const auto root = stage.fresh_root();
  {
    ListenerProcess first(root, client.register_runner("o/r", "one", {"linux"}).encoded_jit_config);
    queue("true");
    EXPECT_EQ(first.wait(), 0);
  }
  ListenerProcess second(root, client.register_runner("o/r", "two", {"linux"}).encoded_jit_config);
  EXPECT_EQ(second.wait(), 1);
}

TEST_F(RunnerLife, without_or_with_a_broken_configuration_it_does_not_start) {
  ListenerProcess none(stage.fresh_root(), "");
  EXPECT_EQ(none.wait(), 1);
  ListenerProcess broken(stage.fresh_root(), "bm90IGpzb24=");
  EXPECT_EQ(broken.wait(), 1);
}

TEST_F(RunnerLife, a_busy_runner_cannot_be_deregistered) {
  auto listener = stage.online_listener("one", {"linux"});
  const fs::path gate = stage.directory.path() / "gate";
  const auto job = queue("while [ ! -e " + gate.string() + " ]; do sleep 0.05; done");
  ASSERT_TRUE(running(client, job));
  const auto id = client.job(job).runner_id;
  const std::string path = "/repos/o/r/actions/runners/" + std::to_string(id);
  EXPECT_EQ(json::parse(client.api("GET", path).body).at("busy"), true);
  const auto refused = client.api("DELETE", path);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("currently running a job"));
  const auto runs = json::parse(client.api("GET", "/repos/o/r/actions/runs?status=in_progress").body);
  EXPECT_EQ(runs.at("total_count"), 1);
  ASSERT_EQ(run_program({"/usr/bin/touch", gate.string()}), 0);
  EXPECT_EQ(listener->wait(), 0);
  EXPECT_EQ(client.api("DELETE", path).status, 404);
}

TEST_F(RunnerLife, a_deregistered_listener_gets_no_job_and_ends) {
  auto listener = stage.online_listener("one", {"linux"});
  const auto id = client.runners().front().id;
  ASSERT_EQ(client.api("DELETE", "/repos/o/r/actions/runners/" + std::to_string(id)).status, 204);
  const auto job = queue("true");
  EXPECT_EQ(client.job(job).status, "queued");
  client.add_fault({.action = "delay", .path = "/_runner/sessions/*/message"});  // ends the poll that waits
  EXPECT_EQ(listener->wait(), 1);
}

TEST_F(RunnerLife, signals_end_an_idle_listener_as_the_real_one) {
  auto terminated = stage.online_listener("one", {"linux"});
  terminated->signal(SIGTERM);
  EXPECT_EQ(terminated->wait(), 143);
  auto interrupted = stage.online_listener("two", {"linux"});
  interrupted->signal(SIGINT);
  EXPECT_EQ(interrupted->wait(), 0);
  for (const auto& runner : client.runners()) {
    EXPECT_TRUE(client.wait_for_runner(runner.id, [](const RunnerView& view) { return !view.online; }));
    EXPECT_TRUE(client.runner(runner.id).registered);  // nobody removes an interrupted ephemeral runner
  }
}

TEST_F(RunnerLife, a_signal_during_a_job_cancels_it) {
  auto listener = stage.online_listener("one", {"linux"});
  const auto job = queue("sleep 1000");
  ASSERT_TRUE(running(client, job));
  listener->signal(SIGTERM);
  EXPECT_EQ(listener->wait(), 143);
  EXPECT_EQ(client.job(job).result, "cancelled");
}

TEST_F(RunnerLife, a_cancelled_job_ends_soon) {
  auto listener = stage.online_listener("one", {"linux"});
  const auto job = queue("sleep 1000 & sleep 1000");
  ASSERT_TRUE(running(client, job));
  client.cancel(job);
  EXPECT_EQ(listener->wait(), 0);
  EXPECT_EQ(client.job(job).result, "cancelled");
}

TEST_F(RunnerLife, a_killed_listener_goes_offline_and_loses_its_job) {
  client.change_settings({.offline_after_ms = 300, .lost_after_ms = 600});
  fs::path root;
  auto listener = stage.online_listener("one", {"linux"}, &root);
  const fs::path pid_file = stage.directory.path() / "pid";
  const auto job = queue("echo $$ > " + pid_file.string() + "; exec sleep 1000");
  ASSERT_TRUE(running(client, job));
  listener->signal(SIGKILL);
  EXPECT_EQ(listener->wait(), 137);
  ASSERT_TRUE(client.wait_for_job(job, [](const JobView& view) { return view.status == "completed"; }));
  EXPECT_EQ(client.job(job).result, "failure");
  const auto runner = client.runners().front();
  EXPECT_FALSE(runner.online);
  EXPECT_TRUE(runner.registered);
  const std::string script = read_file(pid_file);
  if (!script.empty()) ::kill(static_cast<pid_t>(std::stol(script)), SIGKILL);
}

TEST_F(RunnerLife, the_worker_kills_what_a_job_left_behind) {
  const fs::path pid_file = stage.directory.path() / "pid";
  auto listener = stage.online_listener("one", {"linux"});
  queue("setsid sleep 1000 & echo $! > " + pid_file.string());
  EXPECT_EQ(listener->wait(), 0);
  const auto left = static_cast<pid_t>(std::stol(read_file(pid_file)));
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    const std::string status = read_file("/proc/" + std::to_string(left) + "/stat");
    gone = status.empty() || status.find(") Z") != std::string::npos;
    if (!gone) run_program({"/bin/sleep", "0.02"});
  }
  EXPECT_TRUE(gone);
}

TEST_F(RunnerLife, leaves_debug_pipes_in_its_temporary_directory) {
  const fs::path temporary = stage.directory.path() / "tmp";
  fs::create_directory(temporary);
  auto listener = stage.online_listener("one", {"linux"}, nullptr, {{"TMPDIR", temporary.string()}});
  queue("true");
  EXPECT_EQ(listener->wait(), 0);
  const auto pipes = files_like(temporary, "clr-debug-pipe-*");
  ASSERT_EQ(pipes.size(), 2U);
  EXPECT_TRUE(fs::is_fifo(pipes.front()));
}

TEST_F(RunnerLife, a_held_session_ends_it_with_five) {
  client.add_fault({.action = "session_conflict", .count = -1});
  ListenerProcess listener(stage.fresh_root(),
                           client.register_runner("o/r", "one", {"linux"}).encoded_jit_config);
  EXPECT_EQ(listener.wait(), 5);
}

TEST_F(RunnerLife, a_deprecated_version_ends_it_with_seven_if_asked_for) {
  client.deprecate("2.330.0");
  const std::map<std::string, std::string> ask{{"ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE", "1"}};
  ListenerProcess asked(stage.fresh_root(),
                        client.register_runner("o/r", "one", {"linux"}).encoded_jit_config, ask);
  EXPECT_EQ(asked.wait(), 7);
  ListenerProcess plain(stage.fresh_root(),
                        client.register_runner("o/r", "two", {"linux"}).encoded_jit_config);
  EXPECT_EQ(plain.wait(), 1);
}

TEST_F(RunnerLife, an_update_message_ends_it_with_four) {
  auto listener = stage.online_listener("one", {"linux"});
  client.add_fault({.action = "update"});
  EXPECT_EQ(listener->wait(), 4);
}

TEST_F(RunnerLife, the_job_result_is_the_exit_code_when_asked_for) {
  auto listener = stage.online_listener("one", {"linux"}, nullptr,
                                        {{"ACTIONS_RUNNER_RETURN_JOB_RESULT_FOR_HOSTED", "true"}});
  queue("false");
  EXPECT_EQ(listener->wait(), 102);
}

TEST_F(RunnerLife, a_withheld_job_stays_queued_beside_an_idle_runner) {
  auto listener = stage.online_listener("one", {"linux"});
  const auto fault = client.add_fault({.action = "withhold", .target = "o/r"});
  const auto job = queue("true");
  EXPECT_EQ(client.job(job).status, "queued");
  client.remove_fault(fault);
  EXPECT_EQ(listener->wait(), 0);
  EXPECT_EQ(client.job(job).starts, 1);
}

TEST_F(RunnerLife, a_withdrawn_assignment_shows_busy_and_then_idle_again) {
  auto listener = stage.online_listener("one", {"linux"});
  const auto withdraw = client.add_fault({.action = "withdraw", .for_ms = 6'000});
  const auto job = queue("true");
  const auto id = client.runners().front().id;
  const std::string path = "/repos/o/r/actions/runners/" + std::to_string(id);
  ASSERT_TRUE(client.wait_for_runner(id, [](const RunnerView& runner) { return runner.busy; }));
  EXPECT_EQ(json::parse(client.api("GET", path).body).at("busy"), true);
  EXPECT_EQ(client.api("DELETE", path).status, 422);
  EXPECT_EQ(listener->wait(), 0);
  EXPECT_EQ(client.job(job).starts, 1);
  EXPECT_EQ(client.job(job).assignments, 2);
  client.remove_fault(withdraw);
}

TEST_F(RunnerLife, lost_answers_on_its_side_start_nothing_twice) {
  for (const char* path :
       {"/_runner/sessions", "/_runner/sessions/*/message", "*/accept", "*/renew", "*/complete"}) {
    client.add_fault({.action = "execute_then_drop", .path = path});
  }
  ListenerProcess listener(stage.fresh_root(),
                           client.register_runner("o/r", "one", {"linux"}).encoded_jit_config);
  const auto job = queue("true");
  EXPECT_EQ(listener.wait(), 0);
  EXPECT_EQ(client.job(job).starts, 1);
  EXPECT_EQ(client.job(job).result, "success");
}

TEST_F(RunnerLife, a_job_that_was_handed_out_to_nobody_is_queued_again) {
  client.change_settings({.offline_after_ms = 300, .accept_within_ms = 200});
  auto first = stage.online_listener("one", {"linux"});
  client.add_fault({.action = "drop", .path = "*/accept", .count = -1});
  const auto job = queue("true");
  ASSERT_TRUE(client.wait_for_job(job, [](const JobView& view) { return view.assignments > 0; }));
  first->signal(SIGKILL);
  EXPECT_EQ(first->wait(), 137);
  client.clear_faults();
  ASSERT_TRUE(client.wait_for_job(job, [](const JobView& view) { return view.status == "queued"; }));
  auto second = stage.online_listener("two", {"linux"});
  EXPECT_EQ(second->wait(), 0);
  EXPECT_EQ(client.job(job).runner_name, "two");
  EXPECT_EQ(client.job(job).starts, 1);
}

TEST_F(RunnerLife, a_finished_job_may_stay_listed_for_a_while) {
  client.change_settings({.removal_after_ms = -1});
  auto listener = stage.online_listener("one", {"linux"});
  queue("true");
  EXPECT_EQ(listener->wait(), 0);
  const auto runner = client.runners().front();
  EXPECT_TRUE(runner.registered);
  EXPECT_FALSE(runner.busy);
  EXPECT_EQ(client.api("DELETE", "/repos/o/r/actions/runners/" + std::to_string(runner.id)).status, 204);
}

TEST_F(RunnerLife, reads_its_environment_files) {
  const auto root = stage.fresh_root();
  ASSERT_EQ(run_program({"/bin/sh", "-c", "echo FLAVOUR=vanilla > " + (root / ".env").string()}), 0);
  ListenerProcess listener(root, client.register_runner("o/r", "one", {"linux"}).encoded_jit_config);
  const auto job = queue("test \"$FLAVOUR\" = vanilla");
  EXPECT_EQ(listener.wait(), 0);
  EXPECT_EQ(client.job(job).result, "success");
}

TEST_F(RunnerLife, waits_for_a_server_that_comes_back) {
  const auto made = client.register_runner("o/r", "one", {"linux"});
  client.add_fault({.action = "drop", .path = "/_runner/*", .count = 3});
  ListenerProcess listener(stage.fresh_root(), made.encoded_jit_config);
  const auto job = queue("true");
  EXPECT_EQ(listener.wait(), 0);
  EXPECT_EQ(client.job(job).result, "success");
  EXPECT_THAT(client.job(job).runner_name, Not(HasSubstr("two")));
}

TEST(RunnerPackage, has_the_real_layout_and_is_reproducible) {
  TemporaryDirectory directory;
  const fs::path root = directory.path() / "tree";
  unpack(built_runner_package(), root);
  for (const char* name : {"bin/Runner.Listener", "bin/Runner.Worker", "run.sh", "config.sh", "env.sh",
                           "safe_sleep.sh", "run-helper.sh.template", "externals/node20/bin/node"}) {
    EXPECT_TRUE(fs::is_regular_file(root / name)) << name;
  }
  EXPECT_TRUE(fs::is_symlink(root / "externals/node20/bin/npm"));
  const std::vector<std::string> make{EMULATOR_SOURCE_DIR "/package/make_package.sh", "--listener",
                                      EMULATOR_RUNNER_DIR "/Runner.Listener",         "--worker",
                                      EMULATOR_RUNNER_DIR "/Runner.Worker",           "--out",
                                      (directory.path() / "again").string()};
  ASSERT_EQ(run_program(make), 0);
  EXPECT_EQ(read_file(directory.path() / "again" / fs::path(built_runner_package()).filename()),
            read_file(built_runner_package()));
  EXPECT_EQ(run_program({(root / "bin/Runner.Listener").string(), "--version"}), 0);
}

TEST(RunnerPackage, can_be_made_big) {
  TemporaryDirectory directory;
  std::vector<std::string> make{EMULATOR_SOURCE_DIR "/package/make_package.sh",
                                "--listener",
                                EMULATOR_RUNNER_DIR "/Runner.Listener",
                                "--worker",
                                EMULATOR_RUNNER_DIR "/Runner.Worker",
                                "--filler",
                                EMULATOR_BIN_DIR "/emulator-package-filler",
                                "--files",
                                "500",
                                "--bytes",
                                "4000000",
                                "--version",
                                "2.331.0",
                                "--out",
                                directory.path().string()};
  ASSERT_EQ(run_program(make), 0);
  const fs::path root = directory.path() / "tree";
  unpack((directory.path() / "actions-runner-linux-x64-2.331.0.tar.gz").string(), root);
  std::size_t files = 0;
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "externals/node20/include")) {
    if (!entry.is_regular_file()) continue;
    ++files;
    bytes += entry.file_size();
  }
  EXPECT_EQ(files, 500U);
  EXPECT_GT(bytes, 3'800'000U);
  EXPECT_LE(bytes, 4'000'000U);
}

}  // namespace
}  // namespace emulator::testing
