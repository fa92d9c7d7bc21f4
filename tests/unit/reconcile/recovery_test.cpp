// What a start finds, what stands in its way, and what does not.
#include "engine_fixture.hpp"

namespace engine_test {
namespace {

class Recovery : public ConcludedAttempt {
 protected:
  // Another concluded attempt beside the first.
  domain::Attempt second() {
    domain::Attempt row = row_;
    row.id = domain::AttemptId("0000aaaa-0000-4000-8000-000000000000");
    row.runtime = "/runtimes/0000aaaa0000";
    row.replacement_wanted = false;
    return row;
  }
  const Effect* last_of(const domain::AttemptId& id) const {
    const Effect* found = nullptr;
    for (const Effect& effect : world_.effects)
      if (effect.attempt->id == id) found = &effect;
    return found;
  }
};

TEST_F(Recovery, a_residue_that_cannot_be_removed_blocks_neither_the_start_nor_launches) {
  conclude_one();
  open();
  ready();
  ASSERT_EQ(world_.effects.back().kind, EffectKind::destroy);
  succeed(world_.effects.back());
  ASSERT_EQ(world_.effects.back().kind, EffectKind::scrub);
  fail(world_.effects.back(), domain::ErrorCode::busy);
  EXPECT_FALSE(engine_->targets().front().recovering);
  EXPECT_TRUE(journal_ready());
  EXPECT_EQ(engine_->active(), 0);
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
}

TEST_F(Recovery, residues_wait_for_themselves_alone) {
  conclude_one();
  const domain::Attempt other = second();
  ASSERT_TRUE(journal_->commit({.attempts = {other}, .events = {}}).ok());
  open();
  const Effect stuck = *last_of(row_.id);
  const Effect fine = *last_of(other.id);
  fail(stuck, domain::ErrorCode::denied);
  succeed(fine);
  ASSERT_EQ(last_of(other.id)->kind, EffectKind::scrub);
  succeed(*last_of(other.id));
  EXPECT_EQ(row_of(other.id).state, State::cleaned);
  EXPECT_EQ(row_of(row_.id).state, State::failed);
  EXPECT_EQ(row_of(row_.id).cleanup_retry.tries, 1);
}

TEST_F(Recovery, a_cleaning_that_cannot_be_journalled_keeps_launches_closed_and_completes_once) {
  conclude_one();
  open();
  ready();
  succeed(world_.effects.back());
  const Effect scrub = world_.effects.back();
  ASSERT_EQ(scrub.kind, EffectKind::scrub);
  journal_->fail_with = domain::ErrorCode::retry;
  succeed(scrub);
  EXPECT_EQ(row_of(row_.id).state, State::failed) << "nothing is cleaned";
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 0);
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::journal_unreadable);
  journal_->fail_with.reset();
  world_.clock_ms += 1'000;
  engine_->turn();
  EXPECT_EQ(row_of(row_.id).state, State::cleaned);
  EXPECT_EQ(count(EffectKind::scrub), 1) << "the answer was kept, nothing is removed twice";
}

TEST_F(Recovery, a_replacement_intent_that_a_start_finds_is_consumed_once) {
  conclude_one();
  open();
  ready();
  EXPECT_TRUE(engine_->attempts().front().replacement_wanted);
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 1) << "demand decides, not the intent";
  EXPECT_FALSE(row_of(row_.id).replacement_wanted);
  for (int pass = 0; pass < 3; ++pass) {
    world_.clock_ms += 60'000;
    engine_->turn();
    answer_demand(1);
  }
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
}

TEST_F(Recovery, a_replacement_intent_starts_nothing_when_no_job_waits) {
  conclude_one();
  open();
  ready();
  answer_demand(0);
  EXPECT_EQ(count(EffectKind::acquire_package), 0);
  EXPECT_FALSE(row_of(row_.id).replacement_wanted);
}

TEST_F(Recovery, an_intent_that_cannot_be_journalled_prevents_the_signal) {
  ready();
  answer_demand(1);
  succeed_until(EffectKind::release);
  succeed(world_.effects.back());
  const domain::AttemptId id = engine_->attempts().front().id;
  journal_->fail_with = domain::ErrorCode::full;
  engine_->on_event({.attempt = id, .seq = 0, .body = lifecycle::event::OperatorStop{}});
  engine_->turn();
  EXPECT_EQ(count(EffectKind::stop), 0);
  EXPECT_FALSE(row_of(id).termination.has_value());
  journal_->fail_with.reset();
  world_.clock_ms += 1'000;
  engine_->turn();
  EXPECT_EQ(count(EffectKind::stop), 1);
  EXPECT_TRUE(row_of(id).termination.has_value());
}

TEST_F(Recovery, a_launch_step_that_was_ordered_in_the_turn_of_its_end_is_never_issued) {
  ready();
  answer_demand(1);
  succeed_until(EffectKind::materialize);
  const Effect copy = world_.effects.back();
  engine_->on_event({.attempt = copy.attempt->id, .seq = copy.seq, .body = success(copy)});
  engine_->on_event({.attempt = copy.attempt->id, .seq = 0, .body = lifecycle::event::OperatorStop{}});
  engine_->turn();
  EXPECT_EQ(count(EffectKind::prepare), 0);
  EXPECT_EQ(row_of(copy.attempt->id).state, State::failed);
  EXPECT_EQ(world_.effects.back().kind, EffectKind::destroy) << "its ending waits for nobody";
}

TEST_F(Recovery, a_listing_from_before_the_last_change_concludes_nothing) {
  ready();
  answer_demand(1);
  succeed_until(EffectKind::release);
  const Effect release = world_.effects.back();
  const domain::AttemptId id = release.attempt->id;
  open();  // the release's outcome is unknown to the next daemon
  ready();
  ASSERT_EQ(world_.looks.size(), 1U);
  answer_looks(domain::EnvironmentView::running);
  const std::size_t listings = world_.listings.size();
  engine_->on_event({.attempt = id, .seq = 0, .body = lifecycle::event::OperatorStop{}});
  engine_->turn();
  ASSERT_EQ(world_.effects.back().kind, EffectKind::stop);
  succeed(world_.effects.back());  // a change after the listing was asked for
  ASSERT_EQ(world_.listings.size(), listings);
  answer_listing({});
  EXPECT_FALSE(row_of(id).absence_observed);
  EXPECT_TRUE(row_of(id).deregistration_owed) << "the listing proves nothing about it";
}

TEST_F(Recovery, an_environment_that_is_unknown_keeps_the_attempt_and_launches_closed) {
  ready();
  answer_demand(1);
  succeed_until(EffectKind::release);
  succeed(world_.effects.back());
  const domain::AttemptId id = engine_->attempts().front().id;
  world_.looks.clear();
  open();
  ready();
  world_.clock_ms += 30LL * 24 * 3'600'000;
  answer_looks(domain::EnvironmentView::unknown);
  answer_listing({});
  EXPECT_EQ(row_of(id).state, State::starting);
  EXPECT_EQ(engine_->active(), 1) << "its capacity is kept";
  EXPECT_TRUE(engine_->targets().front().recovering);
}

}  // namespace
}  // namespace engine_test
