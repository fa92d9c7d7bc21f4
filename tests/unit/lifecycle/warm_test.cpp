// Attempts that are prepared ahead of a job.
#include "machine_fixture.hpp"

namespace lifecycle_test {
namespace {

using domain::EnvironmentView;
using domain::GithubView;

class Ahead : public Machine {
 protected:
  Ahead() {
    domain::Attempt fresh;
    fresh.id = attempt_.id;
    fresh.generation = attempt_.generation;
    fresh.policy = attempt_.policy;
    fresh.policy.provider_kind = domain::ProviderKind::isolated;
    fresh.policy.profile.image = "runner:1";
    fresh.runtime = attempt_.runtime;
    fresh.ahead = true;
    fresh.package_inside = true;
    take(lifecycle::begin(fresh, now()));
  }
  void waiting() {
    launch(EffectKind::prepare);
    step_on();
    ASSERT_EQ(attempt_.state, State::prepared);
    ASSERT_TRUE(lifecycle::waits_for_job(attempt_));
  }
};

TEST_F(Ahead, a_package_that_is_inside_is_not_acquired) {
  EXPECT_EQ(pending(), EffectKind::materialize);
  step_on();
  EXPECT_EQ(pending(), EffectKind::prepare);
  EXPECT_FALSE(attempt_.package.has_value()) << "there is nothing to lease";
}

TEST_F(Ahead, it_waits_without_a_registration_and_without_a_limit) {
  waiting();
  EXPECT_FALSE(attempt_.pending.has_value());
  EXPECT_FALSE(attempt_.jit_requested_at.has_value());
  EXPECT_TRUE(lifecycle::in_bring_up(attempt_));
  EXPECT_FALSE(lifecycle::next_due(attempt_).has_value());
  pass(7LL * 24 * 3600 * 1000);
  see(EnvironmentView::prepared, GithubView::unreachable);
  EXPECT_TRUE(lifecycle::waits_for_job(attempt_));
}

TEST_F(Ahead, a_claim_registers_it_at_once) {
  waiting();
  tell(event::Claimed{});
  EXPECT_EQ(pending(), EffectKind::register_runner);
  EXPECT_FALSE(attempt_.ahead);
  EXPECT_TRUE(attempt_.times.demand_seen.has_value());
  step_on();
  step_on();
  EXPECT_EQ(attempt_.state, State::starting);
}

TEST_F(Ahead, a_claim_of_what_is_still_prepared_lets_it_go_on_by_itself) {
  launch(EffectKind::prepare);
  tell(event::Claimed{});
  EXPECT_EQ(pending(), EffectKind::prepare);
  step_on();
  EXPECT_EQ(pending(), EffectKind::register_runner);
}

TEST_F(Ahead, a_second_claim_changes_nothing) {
  waiting();
  tell(event::Claimed{});
  const domain::Attempt once = attempt_;
  tell(event::Claimed{});
  EXPECT_EQ(attempt_, once);
}

TEST_F(Ahead, what_ended_cannot_be_claimed) {
  waiting();
  tell(event::Withdrawn{FailureReason::preparation_interrupted});
  ASSERT_EQ(attempt_.state, State::destroying);
  tell(event::Claimed{});
  EXPECT_EQ(attempt_.state, State::destroying);
  EXPECT_FALSE(attempt_.jit_requested_at.has_value());
  wind_up();
}

TEST_F(Ahead, a_restart_fails_it) {
  waiting();
  tell(event::Resumed{});
  EXPECT_FALSE(lifecycle::in_bring_up(attempt_));
  see(EnvironmentView::running, GithubView::unreachable);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::preparation_interrupted);
  EXPECT_FALSE(attempt_.deregistration_owed);
  wind_up();
}

TEST_F(Ahead, a_sandbox_that_is_lost_while_it_waits_ends_it) {
  for (const auto lost : {EnvironmentView::missing, EnvironmentView::exited}) {
    const domain::Attempt before = attempt_;
    waiting();
    see(lost, GithubView::unreachable);
    EXPECT_EQ(attempt_.outcome->reason, FailureReason::preparation_interrupted);
    EXPECT_FALSE(attempt_.replacement_wanted);
    attempt_ = before;
  }
}

TEST_F(Ahead, a_failed_look_ends_nothing) {
  waiting();
  see(EnvironmentView::unknown, GithubView::unreachable);
  EXPECT_TRUE(lifecycle::waits_for_job(attempt_));
}

TEST_F(Ahead, an_operator_ends_it_while_it_waits) {
  waiting();
  tell(event::OperatorStop{});
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::terminated_by_operator);
  wind_up();
}

}  // namespace
}  // namespace lifecycle_test
