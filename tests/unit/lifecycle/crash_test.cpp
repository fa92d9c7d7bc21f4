// The daemon dies: at each point of an attempt's life the next one finds the row and nothing happens twice.
#include "machine_fixture.hpp"

namespace lifecycle_test {
namespace {

using domain::EnvironmentView;
using domain::Evidence;
using domain::GithubView;
using event::Removal;

class Crash : public Machine {
 protected:
  // Dies while `effect` is in flight; nothing came of it.
  void in(EffectKind effect) {
    launch(effect);
    restart();
    EXPECT_FALSE(pending().has_value()) << "no launch effect is issued again";
    EXPECT_FALSE(lifecycle::in_bring_up(attempt_));
    pass(120'000);
    see(EnvironmentView::missing, GithubView::absent);
    EXPECT_EQ(attempt_.state, State::failed);
    // A request whose answer nobody heard is owed until absence by name proves something.
    for (int step = 0; step < 10 && pending(); ++step) {
      if (*pending() == EffectKind::deregister && !attempt_.runner) {
        answer(event::Deregistered{.removal = Removal::not_listed, .found = std::nullopt});
      } else {
        EXPECT_NE(*pending(), effect);
        step_on();
      }
    }
    EXPECT_EQ(attempt_.state, State::cleaned) << "its slot comes back";
  }
};

TEST_F(Crash, after_the_reservation_gives_its_slot_back) { in(EffectKind::acquire_package); }
TEST_F(Crash, while_the_package_is_copied_gives_its_slot_back) { in(EffectKind::materialize); }
TEST_F(Crash, after_the_package_copy_gives_its_slot_back) { in(EffectKind::prepare); }
TEST_F(Crash, after_the_registration_was_asked_for_asks_for_none_again) { in(EffectKind::register_runner); }
TEST_F(Crash, after_the_registration_starts_nothing_with_it) { in(EffectKind::spawn_held); }
TEST_F(Crash, between_the_gate_and_the_listener_releases_nothing_again) { in(EffectKind::release); }

TEST_F(Crash, after_the_spawn_adopts_the_runner) {
  started();
  restart();
  EXPECT_FALSE(pending().has_value());
  see(EnvironmentView::running, GithubView::busy);
  EXPECT_EQ(attempt_.state, State::busy);
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  EXPECT_EQ(attempt_.outcome->kind, OutcomeKind::completed_job);
  wind_up();
}

TEST_F(Crash, of_the_machine_and_a_clock_set_back_stretch_no_timeout_beyond_the_new_boot) {
  launch(EffectKind::register_runner);
  boot_ = domain::BootId("next");
  wall_offset_ms_ = -2 * 3'600'000;
  restart();
  pass(119'999);
  see(EnvironmentView::missing, GithubView::absent);
  EXPECT_EQ(attempt_.state, State::allocated);
  pass(1);
  see(EnvironmentView::missing, GithubView::absent);
  EXPECT_EQ(attempt_.state, State::failed);
}

TEST_F(Crash, in_the_middle_of_cleaning_cleans_again) {
  started();
  see(EnvironmentView::exited, GithubView::absent, Evidence::ran, 0);
  ASSERT_EQ(pending(), EffectKind::destroy);
  restart();
  ASSERT_EQ(pending(), EffectKind::destroy);
  step_on();
  ASSERT_EQ(pending(), EffectKind::scrub);
  restart();
  ASSERT_EQ(pending(), EffectKind::scrub) << "what was proven stays proven";
  step_on();
  EXPECT_EQ(attempt_.state, State::cleaned);
}

TEST_F(Crash, before_a_timeout_was_decided_leads_to_the_same_intent_once) {
  started();
  pass(300'000);
  restart();
  EXPECT_FALSE(attempt_.termination.has_value());
  see(EnvironmentView::running, GithubView::offline);
  ASSERT_EQ(attempt_.termination->kind, domain::TerminationKind::registration_timeout);
  ASSERT_EQ(pending(), EffectKind::deregister);
  const domain::Attempt before = attempt_;
  see(EnvironmentView::running, GithubView::offline);
  EXPECT_EQ(attempt_, before);
}

TEST_F(Crash, after_a_timeout_was_decided_keeps_the_intent) {
  started();
  pass(300'000);
  see(EnvironmentView::running, GithubView::offline);
  const auto intent = attempt_.termination;
  restart();
  EXPECT_EQ(attempt_.termination, intent);
  EXPECT_EQ(pending(), EffectKind::deregister);
}

TEST_F(Crash, loses_the_secret_and_the_registration_expires) {
  launch(EffectKind::spawn_held);
  restart();
  see(EnvironmentView::missing, GithubView::offline);
  EXPECT_EQ(attempt_.outcome->reason, FailureReason::jit_expired);
  EXPECT_TRUE(attempt_.replacement_wanted) << "an intent, and no launch in the machine";
  ASSERT_EQ(pending(), EffectKind::deregister);
  wind_up();
}

}  // namespace
}  // namespace lifecycle_test
