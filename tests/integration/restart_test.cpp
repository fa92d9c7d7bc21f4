#include <algorithm>
#include <csignal>
#include <filesystem>

#include "stage.hpp"

namespace integration {
namespace {

int running(Stage& stage) { return stage.github()->summary().in_progress; }

TEST(Restart, a_killed_daemon_adopts_its_runners_and_learns_how_they_ended) {
  Stage stage(3);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(3, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return running(stage) == 3; }));
  std::vector<std::int64_t> before;
  for (const auto& attempt : stage.agent().live_attempts())
    before.push_back(attempt.pid);
  std::sort(before.begin(), before.end());

  stage.agent().kill_hard();
  ASSERT_TRUE(stage.agent().start());
  std::vector<std::int64_t> after;
  for (const auto& attempt : stage.agent().live_attempts())
    after.push_back(attempt.pid);
  std::sort(after.begin(), after.end());
  EXPECT_EQ(before, after);
  EXPECT_EQ(running(stage), 3);

  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(3));
  for (const auto& job : stage.github()->jobs())
    EXPECT_EQ(job.starts, 1);
  for (const auto& attempt : stage.agent().attempts()) {
    EXPECT_EQ(attempt.outcome, "completed_job");
    EXPECT_TRUE(attempt.clean_exit);
    EXPECT_EQ(attempt.exit_code, 0);
  }
  EXPECT_EQ(stage.agent().attempts().size(), 3U);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
}

TEST(Restart, a_runner_that_ended_while_no_daemon_ran_is_completed_from_its_exit_record) {
  Stage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return running(stage) == 1; }));
  stage.agent().kill_hard();
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(stage.settles(1));
  const auto attempts = stage.agent().attempts();
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts.front().outcome, "completed_job");
  EXPECT_TRUE(attempts.front().clean_exit);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
}

TEST(Restart, kills_at_any_moment_of_a_busy_run_lose_and_double_nothing) {
  Stage stage(4, [](testkit::AgentSetup& setup) {
    setup.policies.front().timeouts = {{"jit_handoff", "5s"}};
  });
  ASSERT_TRUE(stage.agent().start());
  stage.queue(12, "sleep 0.3");
  // Moments that fall into launches, running jobs and clean-up alike.
  for (const int pause_ms : {150, 700, 300, 1100, 450}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    stage.agent().kill_hard();
    ASSERT_TRUE(stage.agent().start());
  }
  // An attempt that was killed between two steps may hold its slot for the hand-off timeout. Where GitHub was
  // asked for a registration and nobody heard the answer, the name stays owed for as long as that request
  // could still make one, which is longer than a test waits.
  const auto only_owes = [](const testkit::AttemptView& attempt) {
    return attempt.state == "cleaned" && attempt.owes_deregistration &&
           attempt.reason == "jit_request_failed";
  };
  ASSERT_TRUE(stage.settles(12, std::chrono::seconds(200), only_owes));
  for (const auto& job : stage.github()->jobs()) {
    EXPECT_EQ(job.starts, 1);
    EXPECT_EQ(job.result, "success");
  }
  const auto debts = stage.agent().live_attempts();
  EXPECT_TRUE(std::all_of(debts.begin(), debts.end(), only_owes));
  EXPECT_EQ(stage.agent().leftovers().sum(), static_cast<int>(debts.size()));
}

TEST(Drain, sigterm_ends_with_zero_and_leaves_live_runners_to_the_next_start) {
  Stage stage(2);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(3, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return running(stage) == 2; }));
  EXPECT_EQ(stage.agent().terminate(std::chrono::seconds(60)), 0);
  EXPECT_EQ(running(stage), 2);
  EXPECT_EQ(stage.github()->summary().queued, 1);
  ASSERT_TRUE(stage.agent().start());
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(3));
  for (const auto& job : stage.github()->jobs())
    EXPECT_EQ(job.starts, 1);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
  EXPECT_EQ(stage.agent().terminate(), 0);
}

// The answer comes long after the agent began to end: it must reach nothing that is gone.
TEST(Drain, sigterm_while_github_does_not_answer_ends_with_zero) {
  Stage stage(1);
  ASSERT_TRUE(stage.agent().start());
  emulator::FaultSpec silence;
  silence.action = "delay";
  silence.path = "*";
  silence.count = -1;
  silence.delay_ms = 20'000;
  stage.github()->add_fault(silence);
  stage.queue(1, "true");
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(stage.agent().terminate(std::chrono::seconds(30)), 0);
}

TEST(Drain, sigterm_ends_a_start_that_waits_for_a_plugin) {
  Stage stage(1, [](testkit::AgentSetup& setup) {
    setup.more_plugins = RMGR_BUILD_DIR "/zoo";
    setup.provider = "hangs-in-init";
    setup.provider_config = "{}";
  });
  EXPECT_FALSE(stage.agent().start(std::chrono::seconds(1)));
  EXPECT_EQ(stage.agent().terminate(std::chrono::seconds(10)), 128 + SIGTERM);
}

TEST(Restart, what_a_late_child_brings_back_is_removed) {
  Stage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(stage.settles(1));
  const std::string id = stage.agent().attempts().front().id;
  const std::string runtime = stage.agent().runtimes() + "/demo/" + id.substr(0, 8) + id.substr(9, 4);
  ASSERT_EQ(stage.agent().terminate(), 0);
  ASSERT_FALSE(std::filesystem::exists(runtime));
  ASSERT_TRUE(std::filesystem::create_directories(runtime + "/_work/late"));
  ASSERT_TRUE(stage.agent().start());
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(runtime); }));
  EXPECT_EQ(stage.agent().attempts().front().state, "cleaned");
  EXPECT_EQ(stage.agent().terminate(), 0);
}

TEST(Restart, a_second_daemon_on_one_state_directory_is_refused) {
  Stage stage(1);
  ASSERT_TRUE(stage.agent().start());
  int exit_code = 0;
  testkit::run_program(
      {stage.setup().bin + "/runner-manager", "run", "--config", stage.agent().config_file()}, &exit_code);
  EXPECT_EQ(exit_code, 5);
}

}  // namespace
}  // namespace integration
