// Real jobs in real containers. Started by tests/support/with-engine.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "stage.hpp"
#include "support/engine.hpp"

namespace integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

testkit::TestEngine engine() {
  const auto found = testkit::test_engine();
  if (!found) throw std::runtime_error("start this program by tests/support/with-engine");
  return *found;
}

class ContainerStage : public Stage {
 public:
  explicit ContainerStage(int capacity, const std::string& image = engine().image)
      : Stage(capacity,
              [&image](testkit::AgentSetup& setup) {
                setup.provider = "oci";
                setup.provider_config = testkit::provider_config(engine());
                setup.policies.front().profile = {{"image", image}};
              },
              {"--runner-url", "http://" + engine().address + ":{port}"}) {}

  testkit::Leftovers leftovers() {
    testkit::Leftovers left = agent().leftovers();
    testkit::count_leftovers(engine(), left);
    return left;
  }
  void expect_each_ran_once() {
    for (const auto& job : github()->jobs()) {
      EXPECT_EQ(job.starts, 1);
      EXPECT_EQ(job.result, "success");
    }
    const testkit::Leftovers left = leftovers();
    EXPECT_EQ(left.containers, 0);
    EXPECT_EQ(left.networks, 0);
    EXPECT_EQ(left.volumes, 0);
    EXPECT_EQ(left.sum(), 0);
  }
};

std::string all_that_the_engine_shows() {
  std::string all;
  for (const json& one : json::parse(testkit::ask_engine(engine(), "GET", "/containers/json?all=true")))
    all += testkit::ask_engine(engine(), "GET", "/containers/" + one["Id"].get<std::string>() + "/json");
  return all;
}

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

TEST(Containers, show_their_limits_and_not_their_secret) {
  ContainerStage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "sleep 5");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().in_progress == 1; }));
  const std::string shown = all_that_the_engine_shows();
  EXPECT_THAT(shown, HasSubstr("runner-manager.attempt"));
  EXPECT_THAT(shown, Not(HasSubstr("ACTIONS_RUNNER_INPUT_JITCONFIG=")));
  // What a registration is made of, in base64, as its beginning `{".runner` would be.
  EXPECT_THAT(shown, Not(HasSubstr("eyIu")));
  const json one = json::parse(shown);
  EXPECT_EQ(one["HostConfig"]["PidsLimit"], 4096);
  EXPECT_TRUE(one["HostConfig"]["Binds"].is_null() || one["HostConfig"]["Binds"].empty());
  EXPECT_FALSE(one["HostConfig"]["Privileged"].get<bool>());
  ASSERT_TRUE(stage.settles(1));
  stage.expect_each_ran_once();
}

TEST(Containers, of_a_killed_daemon_are_adopted) {
  ContainerStage stage(2);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(2, "sleep 6");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().in_progress == 2; }));
  stage.agent().kill_hard();
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(stage.settles(2));
  EXPECT_EQ(stage.agent().attempts().size(), 2U);
  for (const auto& attempt : stage.agent().attempts())
    EXPECT_EQ(attempt.outcome, "completed_job") << attempt.reason;
  stage.expect_each_ran_once();
}

TEST(Containers, that_somebody_removes_are_cleaned_up_after) {
  ContainerStage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "sleep 60");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().in_progress == 1; }));
  for (const json& one : json::parse(testkit::ask_engine(engine(), "GET", "/containers/json?all=true")))
    testkit::ask_engine(engine(), "DELETE",
                        "/containers/" + one["Id"].get<std::string>() + "?force=true&v=true");
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(stage.leftovers().sum(), 0);
}

TEST(Containers, whose_image_is_not_there_are_not_started_and_the_reason_is_shown) {
  ContainerStage stage(1, "localhost/no-such-image:1");
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] {
    const auto policies = stage.agent().policies();
    return policies.size() == 1 && policies.front().limited_by == "provider_not_ready" &&
           !policies.front().remedy.empty();
  }));
  EXPECT_THAT(stage.agent().policies().front().remedy, HasSubstr("localhost/no-such-image:1"));
  EXPECT_TRUE(stage.agent().attempts().empty());
}

// Every point of the provider, and those of the core where a sandbox is in the balance.
std::vector<std::string> points() {
  std::vector<std::string> names = {"effect.prepare.before",       "effect.prepare.after",
                                    "effect.release.secret_taken", "effect.release.after",
                                    "effect.look.before",          "effect.destroy.stopped",
                                    "effect.destroy.after"};
  for (const char* room : {"/plugins/oci", "/plugins/support/engine"}) {
    const auto own = testkit::crash_points_in(std::string(RMGR_SOURCE_DIR) + room);
    names.insert(names.end(), own.begin(), own.end());
  }
  return names;
}

TEST(Containers, survive_a_kill_of_the_daemon_at_each_point) {
  ASSERT_GT(points().size(), 10U);
  for (const std::string& point : points()) {
    SCOPED_TRACE(point);
    ContainerStage stage(1);
    stage.agent().set_environment({"RMGR_CRASH_AT=" + point});
    ASSERT_TRUE(stage.agent().start());
    stage.queue(1, "true");
    ASSERT_TRUE(eventually([&] { return stage.agent().ended(); })) << "it was never reached";
    stage.agent().set_environment({});
    ASSERT_TRUE(stage.agent().start());
    ASSERT_TRUE(stage.settles(1));
    stage.expect_each_ran_once();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace integration
