#include "daemon/status.hpp"

#include <gtest/gtest.h>

#include "reconcile/engine.hpp"
#include "support/temporary.hpp"
#include "unit/reconcile/engine_fixture.hpp"

namespace engine_test {
namespace {

using agent::daemon::StatusInput;

class StatusTest : public EngineTest {};

// What a plugin or a server says may repeat what it was given.
TEST_F(StatusTest, NoTextFromElsewhereShowsASecret) {
  const std::string needle = "ghp_" + std::string(36, 'n');
  agent::plugin::InstanceStatus instance;
  instance.name = domain::InstanceName("github");
  instance.refusal = "The server said no to " + needle + ".";
  const StatusInput input{.installation = "i",
                          .version = "v",
                          .started_at_ms = 0,
                          .host_capacity = 1,
                          .instances = {instance},
                          .notices = {"token=" + needle}};
  engine_->on_readiness({.policy = policy_.name,
                         .blocked = domain::LimitingFactor::root_refused,
                         .remedy = "remedy " + needle,
                         .note = "note " + needle});
  engine_->turn();
  ASSERT_FALSE(world_.demands.empty());
  reconcile::DemandAnswer failed{.target = world_.demands.back().first, .pass = world_.demands.back().second};
  failed.failure =
      reconcile::GatewayFailure{.code = domain::ErrorCode::internal, .message = "error " + needle};
  engine_->on_demand(failed);
  engine_->turn();
  const std::string shown = agent::daemon::status_json(input, *engine_);
  EXPECT_EQ(shown.find(needle), std::string::npos) << shown;
  EXPECT_NE(shown.find("The server said no to [redacted]."), std::string::npos) << shown;
  EXPECT_NE(shown.find("error [redacted]"), std::string::npos) << shown;
}

}  // namespace
}  // namespace engine_test
