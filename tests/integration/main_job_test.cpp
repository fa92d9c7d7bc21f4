#include <fstream>

#include "stage.hpp"

namespace integration {
namespace {

TEST(MainJob, five_jobs_on_two_slots_all_run_once_and_leave_nothing) {
  Stage stage(2);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(5, "echo built > result.txt");
  ASSERT_TRUE(stage.settles(5));
  const auto summary = stage.github()->summary();
  EXPECT_EQ(summary.completed, 5);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_EQ(summary.started_twice, 0);
  for (const auto& job : stage.github()->jobs())
    EXPECT_EQ(job.starts, 1);
  for (const auto& attempt : stage.agent().attempts()) {
    EXPECT_EQ(attempt.state, "cleaned");
    EXPECT_EQ(attempt.outcome, "completed_job");
  }
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
  EXPECT_EQ(stage.agent().terminate(), 0);
}

TEST(MainJob, a_job_with_other_labels_starts_nothing) {
  Stage stage(2);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true", {"self-hosted", "somebody-elses"});
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  EXPECT_EQ(stage.github()->summary().queued, 1);
  EXPECT_EQ(stage.github()->summary().registered_total, 1);
}

TEST(MainJob, a_failing_job_is_a_completed_attempt) {
  Stage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "exit 3");
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(stage.github()->jobs().front().result, "failure");
  ASSERT_EQ(stage.agent().attempts().size(), 1U);
  EXPECT_EQ(stage.agent().attempts().front().outcome, "completed_job");
}

TEST(MainJob, processes_that_a_job_leaves_behind_are_ended) {
  Stage stage(1);
  ASSERT_TRUE(stage.agent().start());
  const std::string pid_file = stage.path("runtimes/left.pid");
  std::ofstream(pid_file).close();
  ASSERT_EQ(::chmod(pid_file.c_str(), 0666), 0);
  stage.queue(
      1, "(setsid sh -c 'echo $$ > " + pid_file + "; exec sleep 600' </dev/null >/dev/null 2>&1 &); sleep 1");
  ASSERT_TRUE(stage.settles(1));
  pid_t left = 0;
  std::ifstream(pid_file) >> left;
  ASSERT_GT(left, 0);
  EXPECT_TRUE(eventually([&] { return ::kill(left, 0) != 0; }));
}

TEST(MainJob, a_runner_that_waits_too_long_without_a_job_is_deregistered_and_not_replaced) {
  Stage stage(1, [](testkit::AgentSetup& setup) { setup.policies.front().timeouts = {{"idle", "2s"}}; });
  ASSERT_TRUE(stage.agent().start());
  // The job goes away while its runner comes up.
  stage.github()->add_fault({.action = "withhold", .for_ms = 120000});
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().registrations == 1; }));
  stage.github()->cancel(stage.github()->jobs().front().id);
  ASSERT_TRUE(eventually([&] {
    const auto attempts = stage.agent().attempts();
    return !attempts.empty() && attempts.back().state == "cleaned";
  }));
  EXPECT_EQ(stage.agent().attempts().size(), 1U);
  EXPECT_EQ(stage.agent().attempts().back().outcome, "exited_idle_without_work");
  EXPECT_EQ(stage.github()->summary().registrations, 0);
}

}  // namespace
}  // namespace integration
