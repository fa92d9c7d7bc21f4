#include "machine_fixture.hpp"

namespace lifecycle_test {
namespace {

TEST_F(Machine, a_job_walks_from_allocated_to_cleaned) {
  EXPECT_EQ(attempt_.state, State::allocated);
  started();
  see(domain::EnvironmentView::running, domain::GithubView::busy);
  EXPECT_EQ(attempt_.state, State::busy);
  see(domain::EnvironmentView::exited, domain::GithubView::absent, domain::Evidence::ran, 0);
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
  wind_up();
}

TEST_F(Machine, each_launch_step_is_an_intent_before_it_is_an_effect) {
  const EffectKind order[] = {EffectKind::acquire_package, EffectKind::materialize, EffectKind::prepare,
                              EffectKind::register_runner, EffectKind::spawn_held,  EffectKind::release};
  for (const EffectKind kind : order) {
    ASSERT_EQ(pending(), kind);
    EXPECT_EQ(last_.orders.front().kind, kind);
    step_on();
  }
  EXPECT_FALSE(pending().has_value());
}

TEST_F(Machine, the_request_is_durable_before_the_registration) {
  launch(EffectKind::prepare);
  EXPECT_FALSE(attempt_.jit_requested_at.has_value());
  step_on();
  EXPECT_TRUE(attempt_.jit_requested_at.has_value());
  EXPECT_EQ(pending(), EffectKind::register_runner);
}

TEST_F(Machine, the_identity_is_in_the_row_before_the_release) {
  launch(EffectKind::release);
  EXPECT_EQ(attempt_.process->pid, 42);
  EXPECT_EQ(attempt_.state, State::jit_received);
}

TEST_F(Machine, a_transient_failure_is_tried_again_after_two_and_four_seconds_and_then_given_up) {
  fail(ErrorCode::unreachable);
  EXPECT_EQ(domain::elapsed(now(), *lifecycle::next_due(attempt_)).count(), 2'000);
  pass(2'000);
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::acquire_package);
  fail(ErrorCode::unreachable);
  EXPECT_EQ(domain::elapsed(now(), *lifecycle::next_due(attempt_)).count(), 4'000);
  pass(4'000);
  tell(event::Timer{});
  fail(ErrorCode::unreachable);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::package_unavailable);
  EXPECT_FALSE(last_.refused_for_good);
}

TEST_F(Machine, the_longer_wait_of_ours_and_theirs_counts) {
  fail(ErrorCode::retry, 60'000);
  EXPECT_EQ(domain::elapsed(now(), *lifecycle::next_due(attempt_)).count(), 60'000);
}

TEST_F(Machine, no_retry_once_the_demand_is_gone) {
  demand_ = false;
  fail(ErrorCode::unreachable);
  EXPECT_EQ(attempt_.state, State::failed) << "asked before the wait";
}

TEST_F(Machine, demand_that_goes_during_the_wait_ends_it) {
  fail(ErrorCode::unreachable);
  ASSERT_EQ(attempt_.state, State::allocated);
  demand_ = false;
  pass(2'000);
  tell(event::Timer{});
  EXPECT_EQ(attempt_.state, State::failed);
}

struct Refusal {
  EffectKind step;
  ErrorCode code;
  FailureReason reason;
};
class TerminalRefusal : public Machine, public ::testing::WithParamInterface<Refusal> {};
TEST_P(TerminalRefusal, is_never_tried_again_and_holds_the_policy) {
  launch(GetParam().step);
  fail(GetParam().code);
  EXPECT_EQ(attempt_.state, State::failed);
  EXPECT_EQ(attempt_.outcome->reason, GetParam().reason);
  EXPECT_TRUE(last_.refused_for_good);
}
INSTANTIATE_TEST_SUITE_P(
    Table, TerminalRefusal,
    ::testing::Values(
        Refusal{EffectKind::acquire_package, ErrorCode::denied, FailureReason::runner_package_unverified},
        Refusal{EffectKind::acquire_package, ErrorCode::invalid, FailureReason::runner_package_unverified},
        Refusal{EffectKind::acquire_package, ErrorCode::not_found, FailureReason::package_unavailable},
        Refusal{EffectKind::materialize, ErrorCode::denied, FailureReason::root_refused},
        Refusal{EffectKind::prepare, ErrorCode::invalid, FailureReason::process_start_failed},
        Refusal{EffectKind::register_runner, ErrorCode::not_found, FailureReason::jit_refused},
        Refusal{EffectKind::register_runner, ErrorCode::invalid, FailureReason::jit_refused},
        Refusal{EffectKind::register_runner, ErrorCode::denied, FailureReason::jit_refused}));

TEST_F(Machine, an_unanswered_registration_is_looked_up_by_name_before_it_is_asked_again) {
  launch(EffectKind::register_runner);
  fail(ErrorCode::deadline);
  pass(2'000);
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::deregister);
  EXPECT_FALSE(attempt_.runner.has_value());
  answer(event::Deregistered{.removal = event::Removal::gone, .found = domain::RunnerId(6)});
  EXPECT_EQ(pending(), EffectKind::register_runner);
  EXPECT_FALSE(attempt_.runner.has_value()) << "the id that was removed is not this attempt's";
}

TEST_F(Machine, a_registration_that_answers_late_is_removed_before_the_launch_asks_again) {
  launch(EffectKind::register_runner);
  const std::uint64_t old_seq = attempt_.pending->seq;
  fail(ErrorCode::deadline);
  tell(event::Registered{.runner = domain::RunnerId(9)}, old_seq);
  EXPECT_EQ(attempt_.state, State::allocated) << "an old answer is never applied";
  pass(2'000);
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::deregister);
  EXPECT_FALSE(attempt_.runner.has_value()) << "it is found by its name";
  answer(event::Deregistered{.removal = event::Removal::gone, .found = domain::RunnerId(9)});
  ASSERT_EQ(pending(), EffectKind::register_runner);
  answer(event::Registered{.runner = domain::RunnerId(10)});
  EXPECT_EQ(attempt_.runner->get(), 10);
}

TEST_F(Machine, a_registration_that_answers_after_the_conclusion_becomes_a_debt) {
  launch(EffectKind::register_runner);
  const std::uint64_t old_seq = attempt_.pending->seq;
  demand_ = false;
  fail(ErrorCode::deadline);
  ASSERT_EQ(attempt_.state, State::failed);
  answer(event::Deregistered{.removal = event::Removal::not_listed, .found = std::nullopt});
  tell(event::Registered{.runner = domain::RunnerId(9)}, old_seq);
  EXPECT_TRUE(attempt_.deregistration_owed);
  EXPECT_EQ(attempt_.runner->get(), 9);
  EXPECT_TRUE(last_.drop_secret);
}

TEST_F(Machine, a_registration_that_comes_after_another_one_started_is_removed_by_its_name) {
  launch(EffectKind::register_runner);
  const std::uint64_t old_seq = attempt_.pending->seq;
  asked_in_vain();
  started();
  ASSERT_EQ(attempt_.runner->get(), 7);
  tell(event::Registered{.runner = domain::RunnerId(9)}, old_seq);
  EXPECT_TRUE(attempt_.unanswered_at.has_value()) << "the known id is not the one to remove";
  see(domain::EnvironmentView::exited, domain::GithubView::offline, domain::Evidence::ran, 0);
  ASSERT_EQ(attempt_.state, State::finished);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = event::Removal::gone, .found = domain::RunnerId(9)});
  EXPECT_TRUE(attempt_.deregistration_owed) << "which of the two requests brought it nobody can say";
  while (pending())
    step_on();
  EXPECT_EQ(attempt_.state, State::cleaned);
  pass(15 * 60'000);
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::deregister);
  wind_up();
}

TEST_F(Machine, a_registration_that_comes_after_the_known_one_was_removed_is_a_debt_of_its_name) {
  started();
  see(domain::EnvironmentView::exited, domain::GithubView::offline, domain::Evidence::ran, 0);
  answer(event::Deregistered{.removal = event::Removal::gone, .found = std::nullopt});
  ASSERT_FALSE(attempt_.deregistration_owed);
  tell(event::Registered{.runner = domain::RunnerId(9)}, 4);
  EXPECT_TRUE(attempt_.deregistration_owed);
  EXPECT_TRUE(attempt_.unanswered_at.has_value());
}

TEST_F(Machine, a_name_that_runs_a_job_ends_the_launch_that_wants_it_and_stays_a_debt) {
  launch(EffectKind::register_runner);
  fail(ErrorCode::deadline);
  pass(2'000);
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = event::Removal::busy, .found = domain::RunnerId(9)});
  EXPECT_EQ(attempt_.state, State::failed);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::jit_request_failed);
  EXPECT_FALSE(last_.refused_for_good);
  EXPECT_TRUE(attempt_.deregistration_owed);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = event::Removal::busy, .found = domain::RunnerId(9)});
  EXPECT_NE(pending(), EffectKind::deregister) << "it waits before it asks again";
  EXPECT_EQ(attempt_.runner->get(), 9);
}

TEST_F(Machine, an_answer_that_comes_twice_changes_nothing) {
  launch(EffectKind::materialize);
  const std::uint64_t seq = attempt_.pending->seq;
  answer(event::Materialized{});
  const domain::Attempt before = attempt_;
  tell(event::Materialized{}, seq);
  EXPECT_EQ(attempt_, before);
}

TEST_F(Machine, a_release_whose_outcome_is_unknown_is_left_to_supervision) {
  launch(EffectKind::release);
  fail(ErrorCode::deadline, 0, true);
  EXPECT_EQ(attempt_.state, State::starting);
  EXPECT_TRUE(last_.drop_secret);
  EXPECT_TRUE(last_.observe_soon);
}

TEST_F(Machine, a_started_attempt_wants_no_timer_although_a_launch_step_had_to_be_tried_again) {
  launch(EffectKind::spawn_held);
  fail(ErrorCode::unreachable);
  pass(2'000);
  tell(event::Timer{});
  launch(EffectKind::release);
  fail(ErrorCode::deadline, 0, true);
  ASSERT_EQ(attempt_.state, State::starting);
  EXPECT_EQ(lifecycle::next_due(attempt_), std::nullopt);
}

TEST_F(Machine, a_release_that_ran_nothing_fails_at_once_and_is_never_repeated) {
  launch(EffectKind::release);
  fail(ErrorCode::invalid);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::process_start_failed);
  EXPECT_TRUE(last_.drop_secret);
  EXPECT_TRUE(attempt_.deregistration_owed);
  wind_up();
}

}  // namespace
}  // namespace lifecycle_test
