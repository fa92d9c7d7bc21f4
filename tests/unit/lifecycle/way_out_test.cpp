// What ends although nobody answers: a debt at a target that is gone, and an operator's proof.
#include "machine_fixture.hpp"

namespace lifecycle_test {
namespace {

using domain::EnvironmentView;
using domain::Evidence;
using domain::GithubView;

constexpr std::int64_t kHour = 3'600'000;

class WayOut : public Machine {
 protected:
  // Cleaned, and GitHub did not answer the removal.
  void indebted() {
    started();
    see(EnvironmentView::exited, GithubView::offline, Evidence::ran, 0);
    ASSERT_EQ(pending(), EffectKind::deregister);
    fail(ErrorCode::unreachable);
    step_on();
    step_on();
    ASSERT_EQ(attempt_.state, State::cleaned);
    ASSERT_TRUE(attempt_.deregistration_owed);
  }
  // Every due try fails until so much time has passed.
  void fail_for(std::int64_t ms) {
    const std::int64_t end = clock_ms_ + ms;
    while (clock_ms_ < end && attempt_.deregistration_owed) {
      pass(std::min<std::int64_t>(15 * 60'000, end - clock_ms_));
      tell(event::Timer{});
      if (pending()) fail(ErrorCode::unreachable);
    }
  }
};

TEST_F(WayOut, a_debt_at_a_target_that_is_configured_is_never_dropped) {
  indebted();
  fail_for(72 * kHour);
  EXPECT_TRUE(attempt_.deregistration_owed);
  EXPECT_TRUE(lifecycle::next_due(attempt_).has_value());
}

TEST_F(WayOut, a_debt_at_a_target_that_was_removed_is_tried_for_a_day_and_then_dropped) {
  indebted();
  configured_ = false;
  fail_for(25 * kHour);
  EXPECT_TRUE(attempt_.deregistration_owed) << "GitHub may still have it";
  fail_for(2 * kHour);
  EXPECT_FALSE(attempt_.deregistration_owed);
  EXPECT_FALSE(attempt_.absence_observed) << "nobody saw that it was gone";
  EXPECT_FALSE(pending());
}

TEST_F(WayOut, a_debt_is_not_dropped_while_the_attempt_is_not_clean) {
  started();
  configured_ = false;
  see(EnvironmentView::exited, GithubView::offline, Evidence::ran, 0);
  fail(ErrorCode::unreachable);
  ASSERT_EQ(pending(), EffectKind::destroy);
  fail(ErrorCode::unreachable);
  fail_for(27 * kHour);
  EXPECT_TRUE(attempt_.deregistration_owed);
}

TEST_F(WayOut, an_operators_proof_concludes_an_attempt_that_nobody_can_examine) {
  started();
  restart();
  see(EnvironmentView::unknown, GithubView::unreachable);
  ASSERT_EQ(attempt_.state, State::starting);
  tell(event::Forgotten{});
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::orphaned) << "nobody can say what became of its job";
  EXPECT_TRUE(attempt_.deregistration_owed) << "GitHub may still list it";
  ASSERT_EQ(pending(), EffectKind::deregister);
  step_on();
  EXPECT_EQ(pending(), EffectKind::scrub) << "nothing is stopped or looked for any more";
  wind_up();
}

TEST_F(WayOut, an_operators_proof_ends_the_wait_for_a_destruction) {
  started();
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  ASSERT_EQ(pending(), EffectKind::destroy);
  fail(ErrorCode::internal);
  ASSERT_FALSE(pending());
  tell(event::Forgotten{});
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job) << "how it ended stays";
  EXPECT_EQ(pending(), EffectKind::scrub);
  wind_up();
}

TEST_F(WayOut, an_operators_proof_changes_nothing_while_the_attempt_is_launched) {
  launch(EffectKind::spawn_held);
  const auto before = attempt_;
  tell(event::Forgotten{});
  EXPECT_EQ(attempt_, before);
}

TEST_F(WayOut, an_operators_proof_of_what_is_clean_changes_nothing) {
  indebted();
  const auto before = attempt_;
  tell(event::Forgotten{});
  EXPECT_EQ(attempt_, before);
}

}  // namespace
}  // namespace lifecycle_test
