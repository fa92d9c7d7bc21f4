#include "domain/reload.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): values of the domain

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
  const Attempt cleaned = attempt(State::cleaned);
  for (const Edit& each : edits) {
    Policy wanted = policy();
    each.edit(wanted);
    const auto refused = conflicts({wanted, policy("new")}, {&one, &two, &cleaned});
    ASSERT_EQ(refused.size(), 1U) << each.field;
    EXPECT_NE(refused[0].find(each.field), std::string::npos);
    EXPECT_NE(refused[0].find("2 attempts"), std::string::npos) << "with their count";
    EXPECT_TRUE(conflicts({wanted}, {&cleaned}).empty()) << "with none it may change";
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
  EXPECT_TRUE(conflicts({wanted}, {&one}).empty());
}

TEST(Reload, ARemovedPolicyMayComeBackAsItWas) {
  const Attempt one = attempt(State::busy);
  EXPECT_TRUE(conflicts({policy()}, {&one}).empty());
  Policy moved = policy();
  moved.root = "/elsewhere";
  EXPECT_EQ(conflicts({moved}, {&one}).size(), 1U);
}

}  // namespace
}  // namespace agent::domain
