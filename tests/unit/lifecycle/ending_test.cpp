#include "machine_fixture.hpp"

namespace lifecycle_test {
namespace {

using domain::EnvironmentView;
using domain::Evidence;
using domain::GithubView;
using event::Removal;

TEST_F(Machine, a_job_too_short_to_be_seen_busy_is_completed_without_a_replacement) {
  started();
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
  EXPECT_FALSE(attempt_.replacement_wanted);
}

TEST_F(Machine, a_clean_exit_waits_for_github_to_answer) {
  started();
  see(EnvironmentView::exited, GithubView::unreachable, Evidence::ran, 0);
  EXPECT_EQ(attempt_.state, State::starting);
  EXPECT_TRUE(attempt_.clean_exit) << "it is recorded all the same";
  see(EnvironmentView::missing, GithubView::absent, Evidence::ran);
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
}

TEST_F(Machine, a_finished_job_that_is_still_listed_is_completed_and_deregistered) {
  started();
  see(EnvironmentView::running, GithubView::busy);
  see(EnvironmentView::exited, GithubView::offline, Evidence::ran, 0);
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
  EXPECT_EQ(pending(), EffectKind::deregister);
  wind_up();
}

TEST_F(Machine, an_early_exit_without_diagnostics_is_a_failure_with_a_replacement) {
  started();
  see(EnvironmentView::exited, GithubView::absent, Evidence::unknown, 1);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::process_exited_unexpectedly);
  EXPECT_TRUE(attempt_.replacement_wanted);
}

TEST_F(Machine, a_surplus_runner_is_deregistered_then_stopped_and_is_no_failure) {
  started();
  see(EnvironmentView::running, GithubView::idle);
  ASSERT_EQ(attempt_.state, State::idle);
  pass(300'000);
  see(EnvironmentView::running, GithubView::idle);
  ASSERT_TRUE(attempt_.termination.has_value());
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::gone, .found = std::nullopt});
  ASSERT_EQ(pending(), EffectKind::stop);
  EXPECT_EQ(attempt_.state, State::idle) << "nothing is concluded before it is gone";
  answer(event::Stopped{});
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::exited_idle_without_work);
  EXPECT_FALSE(attempt_.replacement_wanted);
  EXPECT_FALSE(attempt_.deregistration_owed);
  wind_up();
}

TEST_F(Machine, a_surplus_runner_that_took_a_job_meanwhile_is_kept) {
  started();
  see(EnvironmentView::running, GithubView::idle);
  pass(300'000);
  see(EnvironmentView::running, GithubView::idle);
  answer(event::Deregistered{.removal = Removal::busy, .found = std::nullopt});
  EXPECT_FALSE(attempt_.termination.has_value());
  EXPECT_FALSE(pending().has_value());
  see(EnvironmentView::running, GithubView::busy);
  EXPECT_EQ(attempt_.state, State::busy);
}

TEST_F(Machine, a_removal_that_is_refused_while_the_listing_says_idle_is_asked_for_less_and_less_often) {
  started();
  see(EnvironmentView::running, GithubView::idle);
  pass(300'000);
  see(EnvironmentView::running, GithubView::idle);
  answer(event::Deregistered{.removal = Removal::busy, .found = std::nullopt});
  for (const std::int64_t wait : {30'000, 60'000, 120'000}) {
    EXPECT_FALSE(attempt_.termination.has_value());
    pass(wait - 1);
    see(EnvironmentView::running, GithubView::idle, Evidence::no_job);
    EXPECT_FALSE(pending().has_value());
    pass(1);
    see(EnvironmentView::running, GithubView::idle, Evidence::no_job);
    ASSERT_EQ(pending(), EffectKind::deregister);
    answer(event::Deregistered{.removal = Removal::busy, .found = std::nullopt});
  }
  see(EnvironmentView::running, GithubView::busy);
  EXPECT_EQ(attempt_.state, State::busy);
}

TEST_F(Machine, a_registration_timeout_is_an_intent_before_a_signal_before_a_conclusion) {
  started();
  pass(300'000);
  see(EnvironmentView::running, GithubView::offline);
  ASSERT_EQ(attempt_.termination->kind, domain::TerminationKind::registration_timeout);
  ASSERT_EQ(pending(), EffectKind::deregister);
  step_on();
  ASSERT_EQ(pending(), EffectKind::stop);
  step_on();
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::terminated_after_registration_timeout);
  EXPECT_TRUE(attempt_.replacement_wanted);
}

TEST_F(Machine, a_termination_that_a_restart_finds_is_resumed_from_its_step) {
  started();
  pass(300'000);
  see(EnvironmentView::running, GithubView::offline);
  step_on();
  ASSERT_EQ(pending(), EffectKind::stop);
  restart();
  EXPECT_EQ(pending(), EffectKind::stop);
  EXPECT_EQ(attempt_.termination->step, domain::TerminationStep::stop);
}

TEST_F(Machine, a_registration_that_github_will_not_delete_still_concludes_and_stays_a_debt) {
  started();
  see(EnvironmentView::exited, GithubView::offline, Evidence::ran, 0);
  ASSERT_EQ(pending(), EffectKind::deregister);
  fail(ErrorCode::unreachable);
  ASSERT_EQ(pending(), EffectKind::destroy) << "cleaning goes on";
  step_on();
  step_on();
  EXPECT_EQ(attempt_.state, State::cleaned);
  EXPECT_TRUE(attempt_.deregistration_owed);
  pass(30'000);
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::deregister);
  step_on();
  EXPECT_FALSE(attempt_.deregistration_owed);
}

TEST_F(Machine, cleaning_backs_off_for_thirty_then_sixty_seconds) {
  started();
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  ASSERT_EQ(pending(), EffectKind::destroy);
  step_on();
  ASSERT_EQ(pending(), EffectKind::scrub);
  fail(ErrorCode::busy);
  EXPECT_EQ(domain::elapsed(now(), *lifecycle::next_due(attempt_)).count(), 30'000);
  pass(30'000);
  tell(event::Timer{});
  fail(ErrorCode::busy);
  EXPECT_EQ(domain::elapsed(now(), *lifecycle::next_due(attempt_)).count(), 60'000);
  restart();
  EXPECT_EQ(pending(), EffectKind::scrub) << "a restart makes it due";
}

TEST_F(Machine, a_removal_that_says_when_it_will_be_done_is_asked_for_again_then) {
  started();
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  struct {
    std::int64_t asked, waits;
  } const cases[] = {{4'000, 4'000}, {1, 1'000}, {99 * 60'000, 15 * 60'000}};
  for (const auto& each : cases) {
    ASSERT_EQ(pending(), EffectKind::destroy);
    fail(ErrorCode::retry, each.asked);
    EXPECT_EQ(domain::elapsed(now(), *lifecycle::next_due(attempt_)).count(), each.waits);
    pass(each.waits);
    tell(event::Timer{});
  }
  fail(ErrorCode::retry);
  EXPECT_EQ(domain::elapsed(now(), *lifecycle::next_due(attempt_)).count(), 4 * 60'000)
      << "the fourth failure";
}

TEST_F(Machine, absence_by_name_is_believed_ten_minutes_after_the_requests_deadline) {
  launch(EffectKind::register_runner);
  restart();
  pass(120'000);
  see(EnvironmentView::missing, GithubView::absent);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  EXPECT_TRUE(attempt_.deregistration_owed);
  step_on();
  step_on();
  EXPECT_EQ(attempt_.state, State::cleaned);
  pass(lifecycle::kRegistrationWait.count() + lifecycle::kRegistrationDeadline.count() +
       lifecycle::kAbsenceByName.count());
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  EXPECT_FALSE(attempt_.deregistration_owed);
}

TEST_F(Machine, absence_by_name_is_measured_from_the_last_request) {
  constexpr std::int64_t kQuarterOfAnHour = 15 * 60'000;
  launch(EffectKind::register_runner);
  fail(ErrorCode::retry, kQuarterOfAnHour);
  pass(kQuarterOfAnHour);
  tell(event::Timer{});
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  ASSERT_EQ(pending(), EffectKind::register_runner);
  demand_ = false;
  fail(ErrorCode::deadline);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  EXPECT_TRUE(attempt_.deregistration_owed) << "the second request may still be answered";
}

TEST_F(Machine, a_completed_job_does_not_settle_an_earlier_request_that_nobody_answered) {
  const std::int64_t proof = lifecycle::kRegistrationWait.count() + lifecycle::kRegistrationDeadline.count() +
                             lifecycle::kAbsenceByName.count();
  launch(EffectKind::register_runner);
  asked_in_vain();
  started();
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  ASSERT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
  EXPECT_TRUE(attempt_.deregistration_owed) << "the first request may still be carried out";
  pass(proof);
  restart();
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  EXPECT_FALSE(attempt_.deregistration_owed);
}

TEST_F(Machine, a_runner_that_is_found_settles_the_request_that_brought_it) {
  launch(EffectKind::register_runner);
  restart();
  pass(120'000);
  see(EnvironmentView::missing, GithubView::offline);
  ASSERT_EQ(attempt_.state, State::failed);
  EXPECT_EQ(attempt_.runner->get(), 7);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::gone, .found = std::nullopt});
  EXPECT_FALSE(attempt_.deregistration_owed) << "there was one request, and what it brought is gone";
}

TEST_F(Machine, two_unanswered_requests_are_not_settled_by_one_runner) {
  launch(EffectKind::register_runner);
  asked_in_vain();
  ASSERT_EQ(pending(), EffectKind::register_runner);
  demand_ = false;
  fail(ErrorCode::deadline);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::gone, .found = domain::RunnerId(9)});
  EXPECT_TRUE(attempt_.deregistration_owed);
}

TEST_F(Machine, a_runner_that_was_told_of_and_removed_does_not_settle_another_request) {
  launch(EffectKind::register_runner);
  const std::uint64_t first = attempt_.pending->seq;
  fail(ErrorCode::deadline);
  tell(event::Registered{.runner = domain::RunnerId(9)}, first);
  pass(2'000);
  tell(event::Timer{});
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  ASSERT_EQ(pending(), EffectKind::register_runner);
  demand_ = false;
  fail(ErrorCode::deadline);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::gone, .found = domain::RunnerId(9)});
  EXPECT_TRUE(attempt_.deregistration_owed) << "the second request may still bring one";
}

TEST_F(Machine, a_late_runner_that_cannot_be_removed_yet_is_looked_for_again) {
  launch(EffectKind::register_runner);
  asked_in_vain();
  started();
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::busy, .found = domain::RunnerId(9)});
  EXPECT_TRUE(attempt_.deregistration_owed);
  EXPECT_TRUE(attempt_.unanswered_at.has_value()) << "its removal must go by the name";
}

TEST_F(Machine, the_operators_stop_outranks_an_intent_that_a_job_may_withdraw) {
  started();
  see(EnvironmentView::running, GithubView::idle);
  pass(300'000);
  see(EnvironmentView::running, GithubView::idle);
  ASSERT_EQ(pending(), EffectKind::deregister);
  tell(event::OperatorStop{});
  answer(event::Deregistered{.removal = Removal::busy, .found = std::nullopt});
  EXPECT_EQ(attempt_.termination->kind, domain::TerminationKind::by_operator);
  EXPECT_EQ(pending(), EffectKind::stop);
}

TEST_F(Machine, a_request_that_was_refused_leaves_nothing_to_look_for) {
  launch(EffectKind::register_runner);
  fail(ErrorCode::retry, 1'000);
  demand_ = false;
  pass(2'000);
  tell(event::Timer{});
  ASSERT_EQ(attempt_.state, State::failed);
  ASSERT_EQ(pending(), EffectKind::deregister);
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  EXPECT_FALSE(attempt_.deregistration_owed);
}

TEST_F(Machine, absence_by_name_counts_from_when_the_listing_began) {
  const std::int64_t proof = lifecycle::kRegistrationWait.count() + lifecycle::kRegistrationDeadline.count() +
                             lifecycle::kAbsenceByName.count();
  launch(EffectKind::register_runner);
  demand_ = false;
  fail(ErrorCode::deadline);
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  step_on();
  step_on();
  pass(proof - 1);
  tell(event::Timer{});
  ASSERT_EQ(pending(), EffectKind::deregister);
  pass(60'000);
  answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
  EXPECT_TRUE(attempt_.deregistration_owed) << "the listing may be older than the registration";
}

TEST_F(Machine, the_operator_ends_a_launch_that_has_no_process_at_once) {
  launch(EffectKind::materialize);
  tell(event::OperatorStop{});
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::terminated_by_operator);
  EXPECT_EQ(pending(), EffectKind::materialize) << "clean-up waits for what is in flight";
  answer(event::Materialized{});
  EXPECT_EQ(pending(), EffectKind::destroy);
}

TEST_F(Machine, the_operator_never_ends_an_attempt_whose_release_is_in_flight_before_its_answer) {
  launch(EffectKind::release);
  tell(event::OperatorStop{});
  EXPECT_EQ(attempt_.state, State::jit_received);
  answer(event::Started{});
  ASSERT_EQ(pending(), EffectKind::stop);
  step_on();
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::terminated_by_operator);
}

TEST_F(Machine, an_outage_concludes_nothing) {
  started();
  const State before = attempt_.state;
  pass(10 * 3600'000);
  see(EnvironmentView::running, GithubView::unreachable);
  see(EnvironmentView::missing, GithubView::unreachable);
  see(EnvironmentView::unknown, GithubView::absent);
  EXPECT_EQ(attempt_.state, before);
  EXPECT_FALSE(pending().has_value());
}

}  // namespace
}  // namespace lifecycle_test
