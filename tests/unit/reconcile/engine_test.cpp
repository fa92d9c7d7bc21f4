#include "engine_fixture.hpp"

namespace engine_test {
namespace {

TEST_F(EngineTest, nothing_starts_before_the_provider_is_ready) {
  answer_demand(2);
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::provider_not_ready);
  ready();
  answer_demand(2);
  EXPECT_EQ(count(EffectKind::acquire_package), 2);
}

TEST_F(EngineTest, a_reservation_is_in_the_journal_before_its_effect_and_holds_capacity) {
  ready();
  answer_demand(5);
  ASSERT_EQ(world_.effects.size(), 3U) << "the host's capacity";
  for (const Effect& effect : world_.effects) {
    auto row = journal_->find(effect.attempt->id);
    ASSERT_TRUE(row.ok() && row->has_value());
    EXPECT_EQ((*row)->pending->seq, effect.seq);
  }
  EXPECT_EQ(engine_->active(), 3);
}

TEST_F(EngineTest, a_turn_that_cannot_be_made_durable_issues_nothing_and_is_made_good_later) {
  ready();
  journal_->fail_with = domain::ErrorCode::retry;
  answer_demand(1);
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_TRUE(engine_->attempts().empty());
  EXPECT_FALSE(journal_ready());
  world_.clock_ms += 60'000;
  engine_->turn();
  EXPECT_FALSE(journal_ready()) << "a turn that writes nothing proves nothing";
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::journal_unreadable);
  journal_->fail_with.reset();
  world_.clock_ms += 60'000;
  engine_->turn();
  EXPECT_TRUE(journal_ready());
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
}

TEST_F(EngineTest, a_row_that_the_journal_will_not_have_stops_no_other) {
  ready();
  answer_demand(2);
  ASSERT_EQ(world_.effects.size(), 2U);
  const Effect bad = world_.effects[0];
  const Effect good = world_.effects[1];
  journal_->refused_row = bad.attempt->id;
  engine_->on_event(acquired(bad));
  engine_->on_event(acquired(good));
  engine_->turn();
  ASSERT_EQ(count(EffectKind::materialize), 1);
  EXPECT_EQ(world_.effects.back().attempt->id, good.attempt->id);
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::journal_unreadable)
      << "launches wait until the row is written";
  ASSERT_TRUE(engine_->next_wakeup().has_value());
  EXPECT_GT(domain::elapsed(world_.now(), *engine_->next_wakeup()).count(), 0) << "it rests";
  world_.clock_ms += 30'000;
  engine_->turn();
  EXPECT_EQ(count(EffectKind::materialize), 1) << "refused again";
  journal_->refused_row.reset();
  world_.clock_ms += 59'999;
  engine_->turn();
  EXPECT_EQ(count(EffectKind::materialize), 1) << "it rests twice as long";
  world_.clock_ms += 1;
  engine_->turn();
  EXPECT_EQ(count(EffectKind::materialize), 2) << "the answer was kept";
  EXPECT_TRUE(journal_ready());
}

TEST_F(EngineTest, a_policy_is_held_once_for_a_refusal_that_had_to_be_written_twice) {
  ready();
  answer_demand(1);
  journal_->fail_with = domain::ErrorCode::retry;
  engine_->on_event(
      {.attempt = world_.effects.back().attempt->id,
       .seq = world_.effects.back().seq,
       .body = lifecycle::event::Failed{
           .code = domain::ErrorCode::denied, .retry_after = domain::Millis{0}, .process_existed = false}});
  for (int turn = 0; turn < 5; ++turn) {
    engine_->turn();
    world_.clock_ms += 1'000;
  }
  EXPECT_NE(engine_->policies().front().limited_by, domain::LimitingFactor::held_after_refusal)
      << "nothing was refused yet as far as the journal knows";
  journal_->fail_with.reset();
  engine_->turn();
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::held_after_refusal);
  world_.clock_ms += 30'000;
  EXPECT_NE(engine_->policies().front().limited_by, domain::LimitingFactor::held_after_refusal)
      << "the first hold lasts half a minute";
}

TEST_F(EngineTest, an_attempt_whose_reconciliation_could_not_be_written_keeps_launches_closed) {
  ready();
  answer_demand(1);
  world_.looks.clear();
  world_.listings.clear();
  open();
  ready();
  world_.clock_ms += 120'000;  // past the hand-off, so that the pass concludes the attempt
  ASSERT_EQ(world_.looks.size(), 1U);
  reconcile::Look look;
  look.attempt = world_.looks.back().first;
  look.pass = world_.looks.back().second;
  look.environment = domain::EnvironmentView::missing;
  engine_->on_look(look);
  engine_->turn();
  ASSERT_EQ(world_.listings.size(), 1U);
  reconcile::Inventory inventory;
  inventory.target = world_.listings.back().first;
  inventory.pass = world_.listings.back().second;
  journal_->fail_with = domain::ErrorCode::retry;
  engine_->on_inventory(inventory);
  engine_->turn();
  EXPECT_EQ(engine_->targets().front().recovering, true);
}

TEST_F(EngineTest, the_secret_of_an_answer_for_a_settled_attempt_is_dropped) {
  const domain::AttemptId gone("00009999-0000-4000-8000-000000000000");
  engine_->on_event(
      {.attempt = gone, .seq = 3, .body = lifecycle::event::Registered{.runner = domain::RunnerId(1)}});
  engine_->turn();
  EXPECT_EQ(world_.dropped, std::vector<domain::AttemptId>{gone});
}

TEST_F(EngineTest, an_answer_is_not_lost_when_its_commit_fails) {
  ready();
  answer_demand(1);
  const Effect acquire = world_.effects.back();
  journal_->fail_with = domain::ErrorCode::retry;
  engine_->on_event(acquired(acquire));
  engine_->turn();
  EXPECT_EQ(count(EffectKind::materialize), 0);
  journal_->fail_with.reset();
  world_.clock_ms += 1'000;
  engine_->turn();
  EXPECT_EQ(count(EffectKind::materialize), 1);
}

TEST_F(EngineTest, a_job_that_stays_queued_starts_no_second_runner) {
  ready();
  answer_demand(1);
  for (int pass = 0; pass < 5; ++pass) {
    world_.clock_ms += 10'000;
    engine_->turn();
    answer_demand(1);
  }
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
}

TEST_F(EngineTest, launches_stay_closed_after_a_restart_until_the_live_attempts_were_seen) {
  ready();
  answer_demand(1);
  world_.effects.clear();
  world_.looks.clear();
  world_.listings.clear();
  open();
  ready();
  ASSERT_EQ(world_.looks.size(), 1U);
  reconcile::Look look;
  look.attempt = world_.looks.back().first;
  look.pass = world_.looks.back().second;
  look.environment = domain::EnvironmentView::missing;
  engine_->on_look(look);
  engine_->turn();
  ASSERT_EQ(world_.listings.size(), 1U) << "the look comes before the listing";
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::recovering);
  reconcile::Inventory inventory;
  inventory.target = world_.listings.back().first;
  inventory.pass = world_.listings.back().second;
  engine_->on_inventory(inventory);
  engine_->turn();
  answer_demand(2);
  EXPECT_EQ(count(EffectKind::acquire_package), 1) << "one attempt waits, one job more is served";
}

TEST_F(EngineTest, an_unreachable_gateway_is_asked_less_and_less_often) {
  ready();
  std::int64_t waited = 0;
  for (int failure = 0; failure < 3; ++failure) {
    reconcile::DemandAnswer answer;
    answer.target = world_.demands.back().first;
    answer.pass = world_.demands.back().second;
    answer.failure = reconcile::GatewayFailure{
        .code = domain::ErrorCode::unreachable, .retry_after = {}, .message = "made"};
    engine_->on_demand(answer);
    engine_->turn();
    EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::gateway_unreachable);
    const std::size_t asked = world_.demands.size();
    std::int64_t wait = 0;
    while (world_.demands.size() == asked && wait < 3'600'000) {
      wait += 1'000;
      world_.clock_ms += 1'000;
      engine_->turn();
    }
    EXPECT_GT(wait, waited);
    waited = wait;
  }
}

TEST_F(EngineTest, draining_admits_nothing_more) {
  ready();
  engine_->drain();
  world_.clock_ms += 60'000;
  engine_->turn();
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_TRUE(engine_->quiescent());
}

TEST_F(ConcludedAttempt, keeps_an_answer_while_its_row_rests_whatever_the_allocator_does) {
  conclude_one();
  open();
  ready();
  ASSERT_EQ(count(EffectKind::destroy), 1);
  journal_->refused_row = row_.id;
  engine_->on_event(
      {.attempt = row_.id, .seq = world_.effects.back().seq, .body = lifecycle::event::Destroyed{}});
  engine_->turn();
  ASSERT_FALSE(journal_ready());
  answer_demand(0);
  journal_->refused_row.reset();
  for (int turn = 0; turn < 20; ++turn) {
    world_.clock_ms += 60'000;
    engine_->turn();
  }
  EXPECT_EQ(count(EffectKind::scrub), 1);
}

TEST_F(ConcludedAttempt, gives_up_its_replacement_when_no_policy_is_left) {
  conclude_one();
  policy_.name = domain::PolicyName("another");
  policy_.target = *domain::Target::parse("acme/gadgets");
  open();
  for (int turn = 0; turn < 10; ++turn) {
    while (!world_.effects.empty()) {
      const Effect effect = world_.effects.front();
      world_.effects.erase(world_.effects.begin());
      const bool destroys = effect.kind == EffectKind::destroy;
      engine_->on_event({.attempt = effect.attempt->id,
                         .seq = effect.seq,
                         .body = destroys ? lifecycle::EventBody(lifecycle::event::Destroyed{})
                                          : lifecycle::EventBody(lifecycle::event::Scrubbed{})});
    }
    world_.clock_ms += 10'000;
    engine_->turn();
  }
  EXPECT_TRUE(engine_->attempts().empty());
}

}  // namespace
}  // namespace engine_test
