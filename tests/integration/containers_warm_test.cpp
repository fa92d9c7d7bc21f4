// Containers that are started ahead of jobs.
#include "containers.hpp"

namespace integration {
namespace {

constexpr int kWarm = 2;

Containers with_warm_ones() {
  Containers wanted;
  wanted.config = ", pull: never, runner_path: " + std::string(testkit::package_path);
  wanted.image = engine().full_image;
  wanted.change = [](testkit::AgentSetup& setup) { setup.policies.front().warm = kWarm; };
  return wanted;
}

class WarmContainers : public ::testing::Test {
 protected:
  [[nodiscard]] bool all_wait() {
    return eventually([&] {
      const auto policies = stage_.agent().policies();
      return policies.size() == 1 && policies.front().waiting == kWarm && policies.front().active == kWarm &&
             prepared() == kWarm;
    });
  }
  int prepared() {
    const auto live = stage_.agent().live_attempts();
    return static_cast<int>(
        std::count_if(live.begin(), live.end(), [](const auto& one) { return one.state == "prepared"; }));
  }
  static int running() {
    const auto all = containers();
    return static_cast<int>(std::count_if(all.begin(), all.end(),
                                          [](const auto& one) { return one["State"]["Running"] == true; }));
  }
  ContainerStage stage_{3, with_warm_ones()};
};

TEST_F(WarmContainers, wait_unregistered_run_jobs_and_are_gone_with_the_agent) {
  ASSERT_TRUE(stage_.agent().start());
  ASSERT_TRUE(all_wait());
  EXPECT_EQ(running(), kWarm);
  EXPECT_EQ(stage_.github()->summary().registrations, 0);
  stage_.queue(4, "echo built > result.txt");
  ASSERT_TRUE(eventually([&] { return stage_.github()->summary().completed == 4; }));
  ASSERT_TRUE(all_wait());
  for (const auto& job : stage_.github()->jobs()) {
    EXPECT_EQ(job.starts, 1);
    EXPECT_EQ(job.result, "success");
  }
  EXPECT_EQ(stage_.agent().terminate(), 0);
  stage_.expect_nothing_left();
}

TEST_F(WarmContainers, leave_by_themselves_when_the_daemon_is_killed) {
  ASSERT_TRUE(stage_.agent().start());
  ASSERT_TRUE(all_wait());
  stage_.agent().kill_hard();
  EXPECT_TRUE(eventually([] { return running() == 0; })) << "nobody can hand them a secret any more";
  ASSERT_TRUE(stage_.agent().start());
  ASSERT_TRUE(all_wait());
  stage_.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage_.github()->summary().completed == 1; }));
  ASSERT_TRUE(all_wait());
  for (const auto& attempt : stage_.agent().attempts()) {
    const bool failed = attempt.outcome == "failed";
    EXPECT_TRUE(!failed || attempt.reason == "preparation_interrupted") << attempt.reason;
  }
  EXPECT_EQ(stage_.agent().terminate(), 0);
  stage_.expect_nothing_left();
}

TEST_F(WarmContainers, that_somebody_removes_are_cleaned_up_after_and_jobs_run_without_them) {
  ASSERT_TRUE(stage_.agent().start());
  ASSERT_TRUE(all_wait());
  for (const auto& one : containers())
    drop_container(one["Id"]);
  stage_.queue(2, "true");
  const auto waits = [](const testkit::AttemptView& attempt) { return attempt.state == "prepared"; };
  ASSERT_TRUE(stage_.settles(2, std::chrono::seconds(90), waits));
  for (const auto& job : stage_.github()->jobs())
    EXPECT_EQ(job.starts, 1);
  EXPECT_EQ(stage_.agent().terminate(), 0);
  stage_.expect_nothing_left();
}

TEST_F(WarmContainers, need_the_package_in_the_image) {
  Containers wanted = with_warm_ones();
  wanted.config = ", pull: never";
  ContainerStage stage(3, wanted);
  ASSERT_TRUE(stage.agent().start());
  EXPECT_TRUE(stage.refused_for("runner_path"));
  EXPECT_TRUE(stage.agent().attempts().empty());
}

}  // namespace
}  // namespace integration
