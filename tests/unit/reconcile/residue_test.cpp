// What late children of a job make where its runtime was removed.
#include "engine_fixture.hpp"

namespace engine_test {
namespace {

class ResidueTest : public EngineTest {
 protected:
  // An attempt whose launch failed and that is cleaned.
  void clean_one() {
    ready();
    answer_demand(1);
    id_ = world_.effects.back().attempt->id;
    fail(world_.effects.back(), domain::ErrorCode::unsupported);
    succeed(world_.effects.back());
    succeed(world_.effects.back());
    ASSERT_TRUE(engine_->attempts().empty());
    ASSERT_EQ(row_of(id_).state, State::cleaned);
  }
  bool looks_after(std::int64_t ms) {
    world_.swept.clear();
    world_.clock_ms += ms;
    engine_->turn();
    return !world_.swept.empty();
  }
  void found(bool removed) {
    engine_->on_residue({{.attempt = id_, .found = true, .removed = removed}});
    engine_->turn();
  }
  void nothing_found() {
    engine_->on_residue({{.attempt = id_}});
    engine_->turn();
  }

  domain::AttemptId id_;
};

TEST_F(ResidueTest, a_removed_runtime_is_looked_at_for_an_hour) {
  clean_one();
  EXPECT_FALSE(looks_after(59'000));
  EXPECT_TRUE(looks_after(1'000));
  EXPECT_EQ(world_.swept, std::vector<domain::AttemptId>{id_});
  nothing_found();
  int looks = 1;
  for (int minute = 1; minute < 90; ++minute) {
    if (!looks_after(60'000)) continue;
    ++looks;
    nothing_found();
  }
  EXPECT_EQ(looks, 59);
}

TEST_F(ResidueTest, a_sighting_makes_the_hour_begin_anew_durably_and_changes_nothing_else) {
  clean_one();
  const domain::Attempt before = row_of(id_);
  ASSERT_TRUE(looks_after(50 * 60'000));
  found(true);
  domain::Attempt after = row_of(id_);
  EXPECT_EQ(domain::elapsed(world_.now(), *after.residue_until), lifecycle::kResidueWatch);
  after.residue_until = before.residue_until;
  EXPECT_EQ(after, before);
  EXPECT_EQ(engine_->active(), 0);
  EXPECT_TRUE(looks_after(40 * 60'000)) << "past the first hour";
}

TEST_F(ResidueTest, what_cannot_be_removed_is_tried_again_later_and_later) {
  clean_one();
  ASSERT_TRUE(looks_after(60'000));
  found(false);
  EXPECT_FALSE(looks_after(29'000));
  ASSERT_TRUE(looks_after(1'000));
  found(false);
  EXPECT_FALSE(looks_after(59'000));
  ASSERT_TRUE(looks_after(1'000));
  found(true);
  EXPECT_FALSE(looks_after(59'000));
  EXPECT_TRUE(looks_after(1'000));
}

TEST_F(ResidueTest, a_restart_looks_at_once) {
  clean_one();
  open();
  engine_->turn();
  EXPECT_EQ(world_.swept, std::vector<domain::AttemptId>{id_});
  world_.clock_ms += 61 * 60'000;
  open();
  world_.swept.clear();
  engine_->turn();
  EXPECT_TRUE(world_.swept.empty()) << "the hour is over";
}

TEST_F(ResidueTest, a_question_that_is_not_answered_is_asked_again) {
  clean_one();
  ASSERT_TRUE(looks_after(60'000));
  EXPECT_FALSE(looks_after(10 * 60'000));
  EXPECT_TRUE(looks_after(5 * 60'000));
}

TEST_F(ResidueTest, a_debt_does_not_keep_anybody_from_looking) {
  ready();
  answer_demand(1);
  id_ = world_.effects.back().attempt->id;
  succeed_until(EffectKind::register_runner);
  fail(world_.effects.back(), domain::ErrorCode::denied);
  while (row_of(id_).state != State::cleaned) {
    const Effect effect = world_.effects.back();
    if (effect.kind == EffectKind::deregister) {
      fail(effect, domain::ErrorCode::unreachable);
    } else {
      succeed(effect);
    }
  }
  ASSERT_TRUE(row_of(id_).deregistration_owed);
  ASSERT_TRUE(looks_after(60'000));
  found(true);
  EXPECT_EQ(domain::elapsed(world_.now(), *row_of(id_).residue_until), lifecycle::kResidueWatch);
  EXPECT_TRUE(row_of(id_).deregistration_owed);
}

TEST_F(ResidueTest, nothing_is_looked_at_while_the_agent_drains) {
  clean_one();
  engine_->drain();
  EXPECT_FALSE(looks_after(60'000));
}

}  // namespace
}  // namespace engine_test
