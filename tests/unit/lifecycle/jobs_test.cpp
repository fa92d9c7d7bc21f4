// What became of a runner and of its job.
#include "machine_fixture.hpp"

namespace lifecycle_test {
namespace {

using domain::EnvironmentView;
using domain::Evidence;
using domain::GithubView;
using event::Removal;

TEST_F(Machine, a_job_that_was_taken_between_two_looks_after_idle_is_completed) {
  started();
  see(EnvironmentView::running, GithubView::idle);
  ASSERT_EQ(attempt_.state, State::idle);
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
  EXPECT_FALSE(attempt_.replacement_wanted);
}

TEST_F(Machine, an_assignment_that_was_never_taken_up_is_no_completed_job) {
  started();
  see(EnvironmentView::running, GithubView::busy);
  see(EnvironmentView::exited, GithubView::absent, Evidence::no_job, 0);
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::exited_idle_without_work);
  EXPECT_FALSE(attempt_.replacement_wanted);
}

TEST_F(Machine, an_assignment_that_is_withdrawn_goes_back_to_idle) {
  started();
  see(EnvironmentView::running, GithubView::busy);
  see(EnvironmentView::running, GithubView::idle, Evidence::no_job);
  EXPECT_EQ(attempt_.state, State::idle);
  EXPECT_FALSE(pending().has_value());
}

TEST_F(Machine, a_short_job_whose_runner_id_nobody_knows_still_concludes) {
  started();
  attempt_.runner.reset();
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  EXPECT_EQ(attempt_.state, State::failed) << "by the table";
  wind_up();
}

TEST_F(Machine, a_job_that_lasts_too_long_is_stopped_then_deregistered_and_not_replaced) {
  attempt_.policy.timeouts.job = domain::Millis{1'000};
  started();
  see(EnvironmentView::running, GithubView::busy);
  pass(1'000);
  see(EnvironmentView::running, GithubView::busy);
  ASSERT_EQ(pending(), EffectKind::stop) << "a hard end asks nobody";
  EXPECT_EQ(attempt_.state, State::busy);
  step_on();
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::job_timed_out);
  EXPECT_FALSE(attempt_.replacement_wanted);
  EXPECT_EQ(pending(), EffectKind::deregister) << "after the process is proven gone";
  wind_up();
}

TEST_F(Machine, a_stop_that_fails_keeps_the_capacity_until_death_is_proven) {
  started();
  see(EnvironmentView::running, GithubView::idle);
  tell(event::OperatorStop{});
  for (const std::int64_t wait : {30'000, 60'000}) {
    ASSERT_EQ(pending(), EffectKind::stop);
    fail(ErrorCode::deadline);
    EXPECT_TRUE(domain::counts_against_host(attempt_.policy.provider_kind, attempt_.state));
    EXPECT_FALSE(attempt_.outcome.has_value());
    pass(wait);
    tell(event::Timer{});
  }
  answer(event::Stopped{});
  EXPECT_FALSE(domain::counts_against_host(attempt_.policy.provider_kind, attempt_.state));
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::terminated_by_operator);
}

// Whatever fails once a process may have existed, and wherever the daemon dies then.
TEST_F(Machine, a_process_that_may_have_existed_never_gets_the_secret_again) {
  launch(EffectKind::release);
  const domain::Attempt released = attempt_;
  for (const ErrorCode code : {ErrorCode::deadline, ErrorCode::internal, ErrorCode::unreachable,
                               ErrorCode::retry, ErrorCode::cancelled, ErrorCode::full}) {
    for (const bool dies : {false, true}) {
      attempt_ = released;
      fail(code, 0, true);
      EXPECT_TRUE(attempt_.process.has_value()) << "its identity is durable";
      if (dies) restart();
      for (int minute = 0; minute < 10; ++minute) {
        pass(60'000);
        tell(event::Timer{});
        see(EnvironmentView::running, GithubView::unreachable);
        EXPECT_NE(pending(), EffectKind::release);
        EXPECT_NE(pending(), EffectKind::spawn_held);
      }
      see(EnvironmentView::missing, GithubView::absent);
      EXPECT_EQ(attempt_.outcome->reason, FailureReason::process_exited_unexpectedly);
      wind_up();
    }
  }
}

TEST_F(Machine, the_secret_is_let_go_when_a_launch_ends_whatever_step_failed) {
  const EffectKind steps[] = {EffectKind::acquire_package, EffectKind::materialize, EffectKind::prepare,
                              EffectKind::register_runner, EffectKind::spawn_held,  EffectKind::release};
  const domain::Attempt fresh = attempt_;
  for (const EffectKind step : steps) {
    attempt_ = fresh;
    launch(step);
    demand_ = false;
    fail(ErrorCode::unreachable);
    EXPECT_TRUE(domain::is_concluded(attempt_.state));
    EXPECT_TRUE(last_.drop_secret) << domain::to_string(step);
  }
}

TEST_F(Machine, demand_that_is_gone_names_the_step_that_was_given_up) {
  launch(EffectKind::spawn_held);
  fail(ErrorCode::unreachable);
  demand_ = false;
  pass(2'000);
  tell(event::Timer{});
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::process_start_failed);
}

TEST_F(Machine, the_operators_proof_ends_what_nobody_else_can_prove) {
  started();
  see(EnvironmentView::running, GithubView::busy);
  see(EnvironmentView::unknown, GithubView::unreachable);
  ASSERT_EQ(attempt_.state, State::busy);
  tell(event::Forgotten{});
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::orphaned);
  ASSERT_EQ(pending(), EffectKind::deregister) << "what GitHub still lists is a debt all the same";
  step_on();
  EXPECT_EQ(pending(), EffectKind::scrub) << "the environment is not asked for again";
  step_on();
  EXPECT_EQ(attempt_.state, State::cleaned);
}

TEST_F(Machine, a_launch_that_goes_on_is_not_forgotten) {
  launch(EffectKind::release);
  const domain::Attempt before = attempt_;
  tell(event::Forgotten{});
  EXPECT_EQ(attempt_, before);
}

TEST_F(Machine, a_debt_of_a_target_that_is_gone_is_given_up_after_26_hours) {
  started();
  see(EnvironmentView::exited, GithubView::offline, Evidence::ran, 0);
  fail(ErrorCode::unreachable);
  step_on();
  step_on();
  ASSERT_EQ(attempt_.state, State::cleaned);
  constexpr std::int64_t kHours = 26LL * 3'600'000;
  pass(kHours - 1);
  configured_ = false;
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::deregister) << "tried until then";
  fail(ErrorCode::unreachable);
  EXPECT_TRUE(attempt_.deregistration_owed);
  pass(900'000);
  const domain::Attempt before = attempt_;
  configured_ = true;
  tell(event::Timer{});
  EXPECT_TRUE(attempt_.deregistration_owed) << "a target that is configured is never given up";
  attempt_ = before;
  configured_ = false;
  tell(event::Timer{});
  EXPECT_FALSE(attempt_.deregistration_owed);
  EXPECT_FALSE(pending().has_value());
}

}  // namespace
}  // namespace lifecycle_test
