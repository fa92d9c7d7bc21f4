// Real jobs through a scripted Windows engine: the daemon, its plugins and its journal are real, and the
// engine runs natively what it would run in its containers.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "stage.hpp"
#include "support/windows_engine.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using scripted::WindowsEngine;
using ::testing::HasSubstr;
using ::testing::Not;

// The emulated runner as a package for Windows has it.
std::string windows_package(const std::string& directory) {
  const std::string script =
      "set -e; cd '" + directory + "'; mkdir tree mirror; tar -xzf '" + emulator::built_runner_package() +
      "' -C tree; cp tree/bin/Runner.Listener tree/bin/Runner.Listener.exe; cd mirror; "
      "p=actions-runner-linux-x64-2.330.0.tar.gz; tar -czf $p -C ../tree .; sha256sum $p >$p.sha256; "
      "rm -r ../tree";
  int failed = 0;
  testkit::run_program({"/bin/sh", "-c", script}, &failed);
  if (failed != 0) throw std::runtime_error("no package for Windows could be made");
  return directory + "/mirror";
}

class WindowsStage {
 public:
  explicit WindowsStage(int capacity, const json& more = json::object())
      : stage_(capacity, [&](testkit::AgentSetup& setup) {
          std::ofstream(files_ / "rmgr-bootstrap.exe") << "stands in for the program in the container";
          json config = {{"host", engine_.address()}, {"bootstrap", files_ / "rmgr-bootstrap.exe"}};
          config.update(more);
          setup.provider = "hyperv";
          setup.provider_config = config.dump();
          setup.mirror = windows_package(files_.path());
          setup.policies.front().profile = {
              {"image", WindowsEngine::image_name()}, {"cpu", "2"}, {"memory", "4GiB"}};
        }) {}

  Stage* operator->() { return &stage_; }
  WindowsEngine& engine() { return engine_; }

  void expect_each_ran_once() {
    for (const auto& job : stage_.github()->jobs()) {
      EXPECT_EQ(job.starts, 1);
      EXPECT_EQ(job.result, "success");
    }
    EXPECT_EQ(engine_.containers(), 0U);
    EXPECT_EQ(stage_.agent().leftovers().sum(), 0);
  }

 private:
  testkit::TemporaryDirectory files_;
  WindowsEngine engine_;
  Stage stage_;
};

TEST(Windows, runs_jobs_and_leaves_nothing) {
  WindowsStage stage(2);
  ASSERT_TRUE(stage->agent().start());
  stage->queue(3, "echo built > result.txt");
  ASSERT_TRUE(stage->settles(3));
  const auto attempts = stage->agent().attempts();
  EXPECT_EQ(attempts.size(), 3U);
  for (const auto& attempt : attempts) {
    EXPECT_EQ(attempt.outcome, "completed_job") << attempt.reason;
    EXPECT_TRUE(attempt.clean_exit);
    EXPECT_LE(attempt.prepared_ms, attempt.registered_ms) << "the trial comes before the registration";
  }
  stage.expect_each_ran_once();
  int made = 0;
  for (const auto& asked : stage.engine().engine().asked()) {
    // What a registration is made of, in base64, as its beginning `{".runner` would be.
    EXPECT_THAT(asked.head + asked.body, Not(HasSubstr("eyIu")));
    if (!asked.line.starts_with("POST /containers/create")) continue;
    ++made;
    EXPECT_THAT(asked.line, HasSubstr("platform=windows%2Famd64"));
    const json host = json::parse(asked.body)["HostConfig"];
    EXPECT_EQ(host["Isolation"], "hyperv");
    EXPECT_EQ(host["NetworkMode"], "nat");
    EXPECT_EQ(host["NanoCpus"], 2'000'000'000);
    EXPECT_EQ(host["Memory"], std::int64_t{4} << 30);
  }
  EXPECT_EQ(made, 6) << "a trial and a runner for each job";
}

TEST(Windows, a_trial_that_fails_asks_github_for_nothing) {
  WindowsStage stage(1);
  const std::string first = "POST /containers/" + std::string(63, '0') + "1/start";
  stage.engine().engine().on(first, {scripted::reply(500, R"({"message":"hcs::CreateComputeSystem"})")});
  ASSERT_TRUE(stage->agent().start());
  stage->queue(1, "true");
  ASSERT_TRUE(eventually([&] {
    const auto attempts = stage->agent().attempts();
    return !attempts.empty() && attempts.back().outcome != "";
  }));
  EXPECT_EQ(stage->agent().attempts().back().registered_ms, 0);
  ASSERT_TRUE(stage->settles(1));
  stage.expect_each_ran_once();
}

TEST(Windows, containers_of_a_killed_daemon_are_adopted) {
  WindowsStage stage(1);
  ASSERT_TRUE(stage->agent().start());
  stage->queue(1, "sleep 4");
  ASSERT_TRUE(eventually([&] { return stage->github()->summary().in_progress == 1; }));
  stage->agent().kill_hard();
  ASSERT_TRUE(stage->agent().start());
  ASSERT_TRUE(stage->settles(1));
  ASSERT_EQ(stage->agent().attempts().size(), 1U);
  EXPECT_EQ(stage->agent().attempts().front().outcome, "completed_job");
  stage.expect_each_ran_once();
}

// The points are in builds for that alone.
#if defined(RMGR_CRASH_POINTS)
TEST(Windows, survives_a_kill_of_the_daemon_at_each_point) {
  std::set<std::string> points;
  for (const char* room : {"/plugins/hyperv", "/plugins/support/engine"})
    points.merge(testkit::crash_points_in(std::string(RMGR_SOURCE_DIR) + room));
  ASSERT_GT(points.size(), 8U);
  for (const std::string& point : points) {
    SCOPED_TRACE(point);
    WindowsStage stage(1);
    stage->agent().set_environment({"RMGR_CRASH_AT=" + point});
    ASSERT_TRUE(stage->agent().start());
    stage->queue(1, "true");
    ASSERT_TRUE(eventually([&] { return stage->agent().ended(); })) << "it was never reached";
    stage->agent().set_environment({});
    ASSERT_TRUE(stage->agent().start());
    ASSERT_TRUE(stage->settles(1));
    stage.expect_each_ran_once();
    if (HasFailure()) return;
  }
}
#endif

}  // namespace
}  // namespace integration
