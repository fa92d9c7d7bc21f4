#include "domain/reload.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): values of the domain

TEST(Reload, TellsWhatIsAddedChangedAndRemoved) {
  Policy wider = policy("b");
  wider.max = 20;
  const PolicyChanges changes =
      plan_reload({policy("a"), policy("b"), policy("c")}, {wider, policy("c"), policy("d")}, {});
  EXPECT_TRUE(changes.problems.empty());
  EXPECT_EQ(changes.added, std::vector<PolicyName>{PolicyName{"d"}});
  EXPECT_EQ(changes.changed, std::vector<PolicyName>{PolicyName{"b"}});
  EXPECT_EQ(changes.removed, std::vector<PolicyName>{PolicyName{"a"}});
}

struct Edit {
  const char* field;
  std::function<void(Policy&)> edit;
};

TEST(Reload, WhatUncleanedAttemptsStandOnCannotChange) {
  const std::vector<Edit> edits{
      {"target", [](Policy& p) { p.target = target("acme/gadgets"); }},
      {"gateway", [](Policy& p) { p.gateway = InstanceName{"other"}; }},
      {"provider", [](Policy& p) { p.provider = InstanceName{"other"}; }},
      {"workspace", [](Policy& p) { p.workspace = WorkspaceKind::persistent; }},
      {"root", [](Policy& p) { p.root = "/elsewhere"; }},
  };
  const Attempt one = attempt(State::busy);
  const Attempt two = attempt(State::failed);
  for (const Edit& each : edits) {
    Policy wanted = policy();
    each.edit(wanted);
    const PolicyChanges refused = plan_reload({policy()}, {wanted, policy("new")}, {&one, &two});
    ASSERT_EQ(refused.problems.size(), 1U) << each.field;
    EXPECT_NE(refused.problems[0].find(each.field), std::string::npos);
    EXPECT_NE(refused.problems[0].find("2 attempts"), std::string::npos) << "with their count";
    EXPECT_TRUE(refused.added.empty() && refused.changed.empty()) << "all of it or nothing";
    EXPECT_TRUE(plan_reload({policy()}, {wanted}, {}).problems.empty()) << "with none it may change";
  }
}

TEST(Reload, WhatOnlyConcernsNewAttemptsMayChange) {
  Policy wanted = policy();
  wanted.max = 1;
  wanted.min = 1;
  wanted.labels = {"other"};
  wanted.priority = 9;
  wanted.timeouts.idle = Millis{1};
  wanted.state = PolicyState::paused;
  const Attempt one = attempt(State::busy);
  const PolicyChanges changes = plan_reload({policy()}, {wanted}, {&one});
  EXPECT_TRUE(changes.problems.empty());
  EXPECT_EQ(changes.changed.size(), 1U);
}

TEST(Reload, ARemovedPolicyMayComeBackAsItWas) {
  const Attempt one = attempt(State::busy);
  const PolicyChanges back = plan_reload({}, {policy()}, {&one});
  EXPECT_TRUE(back.problems.empty());
  EXPECT_EQ(back.added.size(), 1U);
  Policy moved = policy();
  moved.root = "/elsewhere";
  EXPECT_EQ(plan_reload({}, {moved}, {&one}).problems.size(), 1U);
}

}  // namespace
}  // namespace agent::domain
