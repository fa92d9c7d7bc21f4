// Attempts in a sandbox, as the engine sees them.
#include "engine_fixture.hpp"

namespace engine_test {
namespace {

class IsolatedEngine : public EngineTest {
 protected:
  IsolatedEngine() {
    policy_.provider_kind = domain::ProviderKind::isolated;
    policy_.profile.image = "runner:1";
    open();
    ready();
    world_.effects.clear();
  }
  const domain::Attempt* only() {
    seen_ = engine_->attempts();
    return seen_.size() == 1 ? &seen_.front() : nullptr;
  }
  // A launch that failed and whose sandbox is to be destroyed.
  void destroying() {
    answer_demand(1);
    succeed_until(EffectKind::prepare);
    fail(world_.effects.back(), domain::ErrorCode::unreachable);
    ASSERT_EQ(world_.effects.back().kind, EffectKind::destroy);
  }
  std::vector<domain::Attempt> seen_;
};

TEST_F(IsolatedEngine, each_state_is_in_the_journal_before_its_effect) {
  answer_demand(1);
  const domain::AttemptId id = world_.effects.back().attempt->id;
  succeed_until(EffectKind::prepare);
  EXPECT_EQ(row_of(id).state, State::preparing);
  succeed_until(EffectKind::register_runner);
  EXPECT_EQ(row_of(id).state, State::prepared);
  EXPECT_TRUE(row_of(id).environment.has_value());
  succeed_until(EffectKind::release);
  EXPECT_EQ(row_of(id).state, State::jit_received);
  EXPECT_EQ(count(EffectKind::spawn_held), 0);
  succeed(world_.effects.back());
  EXPECT_EQ(row_of(id).state, State::starting);
}

TEST_F(IsolatedEngine, a_sandbox_that_is_not_proven_gone_costs_the_host_and_hides_no_job) {
  destroying();
  fail(world_.effects.back(), domain::ErrorCode::busy);
  ASSERT_NE(only(), nullptr);
  EXPECT_EQ(only()->state, State::cleanup_deferred);
  EXPECT_EQ(engine_->active(), 1);
  world_.clock_ms += 10'000;
  engine_->turn();
  answer_demand(5);
  EXPECT_EQ(count(EffectKind::acquire_package), capacity_) << "what is left of the host, the first included";
}

TEST_F(IsolatedEngine, a_deferred_sandbox_blocks_no_start) {
  destroying();
  fail(world_.effects.back(), domain::ErrorCode::busy);
  const domain::AttemptId id = only()->id;
  open();
  EXPECT_EQ(row_of(id).state, State::destroying) << "a restart makes it due";
  EXPECT_FALSE(engine_->targets().front().recovering);
  EXPECT_EQ(engine_->active(), 1);
  ready();
  const std::int64_t before = count(EffectKind::acquire_package);
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), before + 1);
}

TEST_F(IsolatedEngine,
       an_interrupted_preparation_fails_in_the_first_pass_and_only_its_own_sandbox_is_destroyed) {
  answer_demand(2);
  const Effect first = world_.effects[0];
  const Effect second = world_.effects[1];
  succeed(first);
  succeed(world_.effects.back());
  ASSERT_EQ(row_of(first.attempt->id).state, State::preparing);
  world_.looks.clear();
  world_.effects.clear();
  open();
  ready();
  answer_looks(domain::EnvironmentView::missing);
  answer_listing({});
  EXPECT_EQ(row_of(first.attempt->id).outcome->reason, domain::FailureReason::preparation_interrupted);
  EXPECT_EQ(row_of(second.attempt->id).outcome->reason, domain::FailureReason::preparation_interrupted);
  EXPECT_EQ(count(EffectKind::destroy), 2) << "one for each row";
}

TEST_F(IsolatedEngine, an_attempt_gets_the_image_that_its_tag_meant_when_it_was_granted) {
  const std::string pinned = "runner@sha256:" + std::string(64, 'a');
  engine_->on_readiness({.policy = policy_.name,
                         .blocked = domain::LimitingFactor::none,
                         .remedy = {},
                         .note = {},
                         .image = pinned});
  engine_->turn();
  answer_demand(1);
  const domain::AttemptId id = world_.effects.back().attempt->id;
  EXPECT_EQ(row_of(id).policy.profile.image, pinned);
  succeed_until(EffectKind::prepare);
  EXPECT_EQ(world_.effects.back().attempt->policy.profile.image, pinned);
  EXPECT_EQ(engine_->policies().front().policy.profile.image, "runner:1");
}

TEST_F(IsolatedEngine, a_sandbox_in_doubt_is_shown_until_it_is_clear_whose_it_is) {
  destroying();
  const Effect effect = world_.effects.back();
  engine_->on_event(
      {.attempt = effect.attempt->id,
       .seq = effect.seq,
       .body = lifecycle::event::Failed{.code = domain::ErrorCode::exists, .quarantined = true}});
  engine_->turn();
  ASSERT_EQ(engine_->quarantined_sandboxes().size(), 1U);
  EXPECT_EQ(engine_->quarantined_sandboxes().front().attempt, effect.attempt->id.str());
  EXPECT_EQ(only()->state, State::cleanup_deferred);
  EXPECT_EQ(engine_->active(), 1);
  world_.clock_ms += 31'000;
  engine_->turn();
  ASSERT_EQ(world_.effects.back().kind, EffectKind::destroy);
  succeed(world_.effects.back());
  EXPECT_TRUE(engine_->quarantined_sandboxes().empty());
}

TEST_F(IsolatedEngine, a_sandbox_without_a_row_is_shown_once_it_was_seen_twice) {
  answer_demand(1);
  const domain::Attempt& attempt = *world_.effects.back().attempt;
  const domain::InstanceName provider("containers");
  const std::vector<reconcile::ListedSandbox> found = {
      {attempt.id.str(), attempt.generation.str(), "docker:1"},
      {attempt.id.str(), "another-generation", "docker:2"},
      {"00000000-0000-4000-8000-00000000000f", "g", "docker:3"}};
  engine_->on_sandboxes(provider, found);
  EXPECT_TRUE(engine_->quarantined_sandboxes().empty())
      << "their attempts may have ended while they were listed";
  engine_->on_sandboxes(provider, found);
  const auto shown = engine_->quarantined_sandboxes();
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0].environment, "docker:2");
  EXPECT_EQ(shown[1].environment, "docker:3");
  EXPECT_EQ(count(EffectKind::destroy), 0);
  engine_->on_sandboxes(provider, {});
  EXPECT_TRUE(engine_->quarantined_sandboxes().empty());
}

}  // namespace
}  // namespace engine_test
