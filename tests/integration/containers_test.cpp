// Real jobs in real containers.
#include <algorithm>

#include "containers.hpp"
#include "support/everything.hpp"

namespace integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Containers, run_jobs_and_leave_nothing) {
  ContainerStage stage(2);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(3, "echo built > result.txt");
  ASSERT_TRUE(stage.settles(3));
  for (const auto& attempt : stage.agent().attempts()) {
    EXPECT_EQ(attempt.outcome, "completed_job") << attempt.reason;
    EXPECT_TRUE(attempt.clean_exit);
  }
  stage.expect_each_ran_once();
}

TEST(Containers, of_a_killed_daemon_are_adopted) {
  ContainerStage stage(2);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(2, "sleep 6");
  ASSERT_TRUE(stage.at_work(2));
  stage.agent().kill_hard();
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(stage.settles(2));
  EXPECT_EQ(stage.agent().attempts().size(), 2U);
  for (const auto& attempt : stage.agent().attempts())
    EXPECT_EQ(attempt.outcome, "completed_job") << attempt.reason;
  stage.expect_each_ran_once();
}

}  // namespace
}  // namespace integration
