// A full disk: what was kept for it is given up, nothing new is started, and what runs can still be ended.
#include "unit/reconcile/engine_fixture.hpp"

namespace engine_test {

using domain::EffectKind;
using domain::JournalState;
using domain::LimitingFactor;

class FullStateDisk : public EngineTest {
 protected:
  void turn_after(std::int64_t ms) {
    world_.clock_ms += ms;
    engine_->turn();
  }
  void fill() {
    ready();
    journal_->fail_with = domain::ErrorCode::full;
    answer_demand(1);
    ASSERT_EQ(world_.reserves, 1);
  }
  [[nodiscard]] LimitingFactor limited_by() const { return engine_->policies().front().limited_by; }
  void answer_reserve(bool held) {
    engine_->on_reserve({.held = held, .message = held ? "" : "still full"});
    engine_->turn();
  }
};

TEST_F(FullStateDisk, starts_nothing_until_what_is_kept_for_it_is_back) {
  fill();
  EXPECT_EQ(engine_->journal().state, JournalState::full);
  EXPECT_EQ(world_.restorations, 0);
  journal_->fail_with.reset();
  turn_after(10'000);
  EXPECT_EQ(world_.restorations, 1) << "once the journal works again";
  EXPECT_EQ(engine_->journal().state, JournalState::full) << "the room that it works in is the reserve's";
  answer_demand(1);
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_EQ(limited_by(), LimitingFactor::disk_full);

  turn_after(60'000);
  EXPECT_EQ(world_.restorations, 1) << "one question at a time";
  answer_reserve(false);
  EXPECT_EQ(engine_->journal().message, "still full");
  turn_after(9'999);
  EXPECT_EQ(world_.restorations, 1);
  turn_after(1);
  EXPECT_EQ(world_.restorations, 2);

  answer_demand(1);
  const std::size_t asked = world_.demands.size();
  answer_reserve(true);
  EXPECT_EQ(engine_->journal().state, JournalState::ready);
  EXPECT_GT(world_.demands.size(), asked) << "the jobs that wait are looked at at once";
  ready();
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
}

TEST_F(FullStateDisk, is_not_asked_for_room_while_the_journal_has_none) {
  fill();
  for (int minute = 0; minute < 5; ++minute)
    turn_after(60'000);
  EXPECT_EQ(world_.restorations, 0);
  EXPECT_GT(world_.reserves, 1) << "given up anew each time, should it be there again";
}

TEST_F(FullStateDisk, is_not_over_when_it_came_again_while_the_reserve_was_put_back) {
  fill();
  journal_->fail_with.reset();
  turn_after(10'000);
  ASSERT_EQ(world_.restorations, 1);
  const int given_up = world_.reserves;
  engine_->on_event(
      {.attempt = domain::AttemptId("00001000-0000-4000-8000-000000000000"),
       .seq = 1,
       .body = lifecycle::event::Failed{
           .code = domain::ErrorCode::full, .retry_after = {}, .process_existed = false, .of_state = true}});
  engine_->turn();
  answer_reserve(true);
  EXPECT_EQ(engine_->journal().state, JournalState::full);
  EXPECT_GE(world_.reserves, given_up + 2) << "and what was put back is given up";
  turn_after(10'000);
  EXPECT_EQ(world_.restorations, 2);
  answer_reserve(true);
  EXPECT_EQ(engine_->journal().state, JournalState::ready);
}

TEST_F(FullStateDisk, wakes_up_by_itself_to_look_again) {
  ready();
  answer_demand(0);
  engine_->on_reserve({.held = false, .message = "found at the start"});
  engine_->turn();
  EXPECT_EQ(engine_->journal().state, JournalState::full);
  for (int step = 0; step < 100 && world_.restorations == 0; ++step) {
    ASSERT_TRUE(engine_->next_wakeup().has_value());
    world_.clock_ms = std::max(world_.clock_ms + 1, engine_->next_wakeup()->wall_ms);
    engine_->turn();
  }
  EXPECT_EQ(world_.restorations, 1);
}

TEST_F(FullStateDisk, may_show_first_where_an_ended_attempt_is_recorded) {
  ready();
  answer_demand(1);
  ASSERT_EQ(world_.effects.size(), 1U);
  const auto failed = [this](domain::ErrorCode code, bool of_state) {
    const Effect effect = world_.effects.back();
    engine_->on_event({.attempt = effect.attempt->id,
                       .seq = effect.seq,
                       .body = lifecycle::event::Failed{
                           .code = code, .retry_after = {}, .process_existed = false, .of_state = of_state}});
    engine_->turn();
  };
  const auto again = [this] {
    const auto before = count(EffectKind::scrub);
    for (int step = 0; step < 1000 && count(EffectKind::scrub) == before; ++step)
      turn_after(1'000);
    ASSERT_EQ(world_.effects.back().kind, EffectKind::scrub);
  };
  failed(domain::ErrorCode::unsupported, false);
  ASSERT_EQ(world_.effects.back().kind, EffectKind::destroy);
  engine_->on_event({.attempt = world_.effects.back().attempt->id,
                     .seq = world_.effects.back().seq,
                     .body = lifecycle::event::Destroyed{}});
  engine_->turn();
  ASSERT_EQ(world_.effects.back().kind, EffectKind::scrub);
  failed(domain::ErrorCode::retry, true);
  again();
  failed(domain::ErrorCode::full, false);
  EXPECT_EQ(world_.reserves, 0) << "the disk of the runtimes is another one";
  again();
  failed(domain::ErrorCode::full, true);
  EXPECT_EQ(world_.reserves, 1);
  EXPECT_EQ(engine_->journal().state, JournalState::full);
}

}  // namespace engine_test
