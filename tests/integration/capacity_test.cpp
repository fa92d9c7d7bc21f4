// The capacity rules against a real listing: jobs come in stages, and what is started is what the rule says.
#include <set>

#include "stage.hpp"

namespace integration {
namespace {

using testkit::AgentSetup;

std::function<void(AgentSetup&)> with_policy(int min, int max) {
  return [min, max](AgentSetup& setup) {
    setup.policies.front().min = min;
    setup.policies.front().max = max;
  };
}

bool runs(Stage& stage, int jobs) {
  return eventually([&] { return stage.github()->summary().in_progress == jobs; });
}

// Passes go on meanwhile: nothing that is wrongly started stays unseen.
int registered_after_some_passes(Stage& stage) {
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  return stage.github()->summary().registered_total;
}

emulator::FaultSpec listings_fail() {
  return {.action = "status",
          .method = "GET",
          .path = "/repos/*/actions/runs",
          .count = -1,
          .status = 502,
          .body = "<html>bad gateway</html>"};
}

bool both_limited_by(Stage& stage, const std::string& factor) {
  const auto policies = stage.agent().policies();
  return policies.size() == 2 && policies.front().limited_by == factor &&
         policies.back().limited_by == factor;
}

TEST(Capacity, busy_runners_hide_no_queued_job) {
  Stage stage(20, with_policy(0, 10));
  ASSERT_TRUE(stage.agent().start());
  const std::string script = Stage::wait_for(stage.path("runtimes/go"));
  stage.queue(5, script);
  ASSERT_TRUE(runs(stage, 5));
  stage.queue(5, script);
  ASSERT_TRUE(runs(stage, 10));
  EXPECT_EQ(registered_after_some_passes(stage), 10);
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(10));
  EXPECT_EQ(stage.github()->summary().registered_total, 10);
}

TEST(Capacity, the_policys_maximum_holds) {
  Stage stage(20, with_policy(0, 2));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(5, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(runs(stage, 2));
  EXPECT_EQ(registered_after_some_passes(stage), 2);
  EXPECT_EQ(stage.agent().policies().front().limited_by, "policy_maximum");
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(5));
}

TEST(Capacity, the_hosts_capacity_holds_over_all_policies) {
  Stage stage(3, [](AgentSetup& setup) {
    setup.policies = {{.name = "one", .labels = {"one"}, .timeouts = {}},
                      {.name = "two", .labels = {"two"}, .timeouts = {}}};
  });
  const std::string script = Stage::wait_for(stage.path("runtimes/go"));
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(eventually([&] { return both_limited_by(stage, "demand"); }));
  // One listing shows the jobs of both, and both are ready by then: a pass for only one of them would rightly
  // give it everything.
  const auto fault = stage.github()->add_fault(listings_fail());
  ASSERT_TRUE(eventually([&] { return both_limited_by(stage, "gateway_unreachable"); }));
  stage.queue(3, script, {"self-hosted", "one"});
  stage.queue(3, script, {"self-hosted", "two"});
  stage.github()->remove_fault(fault);
  ASSERT_TRUE(runs(stage, 3));
  EXPECT_EQ(registered_after_some_passes(stage), 3);
  const auto policies = stage.agent().policies();
  ASSERT_EQ(policies.size(), 2U);
  for (const auto& policy : policies) {
    EXPECT_GE(policy.active, 1) << "competing policies share the host fairly";
    EXPECT_EQ(policy.limited_by, "host_capacity");
  }
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(6));
}

TEST(Capacity, a_job_whose_runner_comes_up_starts_no_second_one) {
  Stage stage(10);
  ASSERT_TRUE(stage.agent().start());
  // The job stays queued for many passes although its runner is there.
  const auto fault = stage.github()->add_fault({.action = "withhold", .for_ms = 120000});
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().registered_total == 1; }));
  EXPECT_EQ(registered_after_some_passes(stage), 1);
  stage.github()->remove_fault(fault);
  ASSERT_TRUE(stage.settles(1));
}

TEST(Capacity, the_minimum_keeps_runners_without_demand) {
  Stage stage(10, with_policy(2, 4));
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().registrations == 2; }));
  EXPECT_EQ(registered_after_some_passes(stage), 2);
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().registrations == 2; }));
}

TEST(Capacity, a_gateway_that_fails_starts_nothing_and_recovers) {
  Stage stage(2);
  ASSERT_TRUE(stage.agent().start());
  const auto fault = stage.github()->add_fault(listings_fail());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] {
    const auto policies = stage.agent().policies();
    return !policies.empty() && policies.front().limited_by == "gateway_unreachable";
  }));
  EXPECT_EQ(stage.github()->summary().registered_total, 0);
  stage.github()->remove_fault(fault);
  ASSERT_TRUE(stage.settles(1));
}

}  // namespace
}  // namespace integration
