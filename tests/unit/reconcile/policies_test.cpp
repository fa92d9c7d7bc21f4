// What a policy's state and its place in the configuration mean, and which slot an attempt gets.
#include "engine_fixture.hpp"

namespace engine_test {
namespace {

class Policies : public EngineTest {
 protected:
  void running_runner() {
    ready();
    answer_demand(1);
    succeed_until(EffectKind::release);
    succeed(world_.effects.back());
    ASSERT_EQ(engine_->attempts().front().state, State::starting);
    world_.looks.clear();
  }
  void next_pass() {
    answer_demand(1);  // the one that is under way ends
    world_.clock_ms += 60'000;
    engine_->turn();
  }
};

TEST_F(Policies, one_that_is_paused_admits_nothing_and_its_runners_are_supervised) {
  running_runner();
  policy_.state = domain::PolicyState::paused;
  open();
  ready();
  ASSERT_EQ(world_.looks.size(), 1U) << "supervised";
  answer_looks(domain::EnvironmentView::running);
  answer_listing({{domain::RunnerId(7), domain::runner_name(engine_->attempts().front().id), true, true}});
  EXPECT_EQ(engine_->attempts().front().state, State::busy);
  const std::int64_t started = count(EffectKind::acquire_package);
  answer_demand(3);
  EXPECT_EQ(count(EffectKind::acquire_package), started) << "admits nothing";
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::paused);
}

TEST_F(Policies, one_that_drains_admits_nothing_and_its_runners_are_supervised) {
  running_runner();
  policy_.state = domain::PolicyState::draining;
  open();
  ready();
  ASSERT_EQ(world_.looks.size(), 1U);
  answer_looks(domain::EnvironmentView::exited, domain::Evidence::ran, 0);
  answer_listing({});
  EXPECT_EQ(engine_->attempts().front().outcome->kind, domain::OutcomeKind::completed_job);
  const std::int64_t started = count(EffectKind::acquire_package);
  answer_demand(3);
  EXPECT_EQ(count(EffectKind::acquire_package), started);
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::draining);
}

TEST_F(Policies, one_that_was_removed_drains_from_its_journalled_definition_and_is_armed_when_it_comes_back) {
  running_runner();
  const domain::Policy removed = policy_;
  policy_.name = domain::PolicyName("another");
  policy_.target = *domain::Target::parse("acme/gadgets");
  open();
  ASSERT_EQ(world_.looks.size(), 1U);
  answer_looks(domain::EnvironmentView::exited, domain::Evidence::ran, 0);
  ASSERT_EQ(world_.listings.back().first.target.str(), "acme/widgets");
  answer_listing({});
  world_.effects.erase(world_.effects.begin(), world_.effects.end() - 1);
  for (int steps = 0; steps < 5 && !engine_->attempts().empty(); ++steps)
    succeed(world_.effects.back());
  EXPECT_TRUE(engine_->attempts().empty());
  policy_ = removed;
  open();
  ready();
  world_.effects.clear();
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
}

TEST_F(Policies, a_root_that_is_refused_is_shown_and_cleared_by_the_next_success) {
  engine_->on_readiness({.policy = policy_.name,
                         .blocked = domain::LimitingFactor::root_refused,
                         .remedy = "give it another root",
                         .note = {}});
  engine_->turn();
  answer_demand(1);
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::root_refused);
  EXPECT_EQ(engine_->policies().front().remedy, "give it another root");
  ready();
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
  EXPECT_NE(engine_->policies().front().limited_by, domain::LimitingFactor::root_refused);
}

TEST_F(Policies, readiness_that_nobody_renewed_admits_nothing) {
  ready();
  world_.clock_ms += 6 * 60'000;
  engine_->turn();
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 0);
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::provider_not_ready);
}

TEST_F(Policies, what_the_journal_does_not_know_is_nobodys) {
  running_runner();
  next_pass();
  answer_looks(domain::EnvironmentView::running);
  const auto before = engine_->attempts();
  const domain::AttemptId stranger("0000ffff-0000-4000-8000-000000000000");
  answer_listing({{domain::RunnerId(7), domain::runner_name(before.front().id), false, false},
                  {domain::RunnerId(99), domain::runner_name(stranger), false, false}});
  EXPECT_EQ(engine_->attempts().size(), 1U);
  EXPECT_EQ(count(EffectKind::deregister), 0) << "not removed either";
  EXPECT_EQ(count(EffectKind::stop), 0);
}

class Slots : public Policies {
 protected:
  Slots() {
    policy_.workspace = domain::WorkspaceKind::persistent;
    policy_.max = 2;
    open();
    ready();
    world_.effects.clear();
  }
};

TEST_F(Slots, attempts_that_are_granted_at_once_get_the_lowest_ones_and_never_share) {
  answer_demand(3);
  ASSERT_EQ(world_.effects.size(), 2U) << "the policy's maximum is the ceiling";
  EXPECT_EQ(world_.effects[0].attempt->slot, 1);
  EXPECT_EQ(world_.effects[0].attempt->runtime, "/runtimes/s1");
  EXPECT_EQ(world_.effects[1].attempt->slot, 2);
  EXPECT_EQ(row_of(world_.effects[1].attempt->id).slot, 2) << "durable before the effect";
}

TEST_F(Slots, an_ended_attempt_keeps_its_own_until_it_is_cleaned) {
  answer_demand(2);
  const Effect first = world_.effects[0];
  fail(first, domain::ErrorCode::not_found);  // ends the attempt, holds the policy
  ASSERT_EQ(world_.effects.back().kind, EffectKind::destroy);
  const Effect destroy = world_.effects.back();
  open();
  ready();
  world_.clock_ms += 3'600'000;
  world_.effects.clear();
  engine_->turn();
  ready();
  answer_looks(domain::EnvironmentView::missing);
  answer_listing({});
  world_.effects.clear();
  answer_demand(2);
  for (const Effect& effect : world_.effects)
    EXPECT_NE(effect.attempt->slot, 1) << "s1 is not clean yet";
  EXPECT_EQ(row_of(destroy.attempt->id).state, State::failed);
}

TEST_F(Slots, a_policy_whose_slots_are_all_taken_says_so) {
  answer_demand(2);
  domain::Attempt row = row_of(world_.effects[0].attempt->id);
  engine_.reset();
  for (const auto& effect : {world_.effects[0], world_.effects[1]}) {
    domain::Attempt ended = row_of(effect.attempt->id);
    ended.state = State::failed;
    ended.outcome = domain::Outcome{.kind = domain::OutcomeKind::failed,
                                    .reason = domain::FailureReason::workspace_cleanup_deferred};
    ended.pending.reset();
    ASSERT_TRUE(journal_->commit({.attempts = {ended}, .events = {}}).ok());
  }
  world_.effects.clear();
  open();
  ready();
  answer_demand(2);
  EXPECT_EQ(count(EffectKind::acquire_package), 0);
  EXPECT_EQ(engine_->policies().front().limited_by, domain::LimitingFactor::no_free_slot);
  EXPECT_EQ(row.slot, 1);
}

TEST_F(Policies, an_ephemeral_workspace_and_an_organization_never_enter_slot_allocation) {
  ready();
  answer_demand(1);
  EXPECT_EQ(world_.effects.back().attempt->slot, std::nullopt);
  policy_.name = domain::PolicyName("organization");
  policy_.target = *domain::Target::parse("acme");
  open();
  ready();
  world_.effects.clear();
  answer_demand(1);
  ASSERT_EQ(count(EffectKind::acquire_package), 1);
  EXPECT_EQ(world_.effects.back().attempt->slot, std::nullopt);
}

}  // namespace
}  // namespace engine_test
