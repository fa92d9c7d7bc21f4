#include "daemon/daemon_world.hpp"

#include <gtest/gtest.h>

namespace agent::daemon {
namespace {

reconcile::Look seen() {
  reconcile::Look look;
  look.attempt = domain::AttemptId("6f1d2c3b-4a59-4e6f-8a7b-9c0d1e2f3a4b");
  look.pass = 7;
  look.environment = domain::EnvironmentView::exited;
  look.clean = true;
  look.exit_code = 0;
  return look;
}

TEST(ALook, has_the_evidence_that_was_read) {
  const reconcile::Look look = complete(seen(), domain::Evidence::ran);
  EXPECT_EQ(look.environment, domain::EnvironmentView::exited);
  EXPECT_EQ(look.evidence, domain::Evidence::ran);
}

// An exit beside diagnostics that nobody could read would be decided as an exit without a job.
TEST(ALook, knows_nothing_when_the_diagnostics_could_not_be_read) {
  const reconcile::Look look =
      complete(seen(), domain::Error{.code = domain::ErrorCode::deadline, .message = {}, .retry_after = {}});
  EXPECT_EQ(look.attempt, seen().attempt);
  EXPECT_EQ(look.pass, 7U);
  EXPECT_EQ(look.environment, domain::EnvironmentView::unknown);
  EXPECT_FALSE(look.clean);
  EXPECT_FALSE(look.exit_code.has_value());
}

}  // namespace
}  // namespace agent::daemon
