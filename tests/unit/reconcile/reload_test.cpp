// What an operator changes while the agent runs: policies, limits, and the way out.
#include <gmock/gmock.h>

#include "unit/reconcile/engine_fixture.hpp"

namespace engine_test {
namespace {

using domain::ErrorCode;
using domain::LimitingFactor;
using ::testing::HasSubstr;

class ReloadTest : public EngineTest {
 protected:
  reconcile::EngineOptions options(std::int64_t capacity = 3) {
    return {.host_capacity = capacity,
            .poll_quiet = domain::Millis{10'000},
            .poll_active = domain::Millis{10'000}};
  }
  std::string refusal(const domain::Policy& changed) {
    const auto done = engine_->reload(options(), {changed});
    return done ? "" : done.error().message;
  }
  reconcile::PolicyView view(const domain::PolicyName& name) {
    for (const auto& each : engine_->policies())
      if (each.policy.name == name) return each;
    return {};
  }
  // The launch fails for good before anything was registered, and its directory is removed.
  void end(Effect effect) {
    engine_->on_event({.attempt = effect.attempt->id,
                       .seq = effect.seq,
                       .body = lifecycle::event::Failed{.code = ErrorCode::unsupported}});
    engine_->turn();
    ASSERT_EQ(world_.effects.back().kind, EffectKind::destroy);
    engine_->on_event({.attempt = effect.attempt->id,
                       .seq = world_.effects.back().seq,
                       .body = lifecycle::event::Destroyed{}});
    engine_->turn();
    ASSERT_EQ(world_.effects.back().kind, EffectKind::scrub);
    engine_->on_event({.attempt = effect.attempt->id,
                       .seq = world_.effects.back().seq,
                       .body = lifecycle::event::Scrubbed{}});
    engine_->turn();
  }
};

TEST_F(ReloadTest, a_host_capacity_that_is_edited_while_running_counts_in_the_next_pass) {
  ready();
  answer_demand(9);
  EXPECT_EQ(engine_->active(), 3);
  ASSERT_TRUE(engine_->reload(options(5), {policy_}).ok());
  engine_->turn();
  answer_demand(9);
  EXPECT_EQ(engine_->active(), 5);
  ASSERT_TRUE(engine_->reload(options(1), {policy_}).ok());
  engine_->turn();
  answer_demand(9);
  EXPECT_EQ(engine_->active(), 5) << "less capacity ends nothing";
  EXPECT_EQ(view(policy_.name).limited_by, LimitingFactor::host_capacity);
}

TEST_F(ReloadTest, what_attempts_are_cleaned_by_cannot_change_under_them) {
  ready();
  answer_demand(2);
  domain::Policy changed = policy_;
  changed.target = *domain::Target::parse("acme/gadgets");
  EXPECT_THAT(refusal(changed), HasSubstr("its target cannot change while 2 attempts are not cleaned"));
  EXPECT_EQ(view(policy_.name).policy, policy_) << "the old one stays";
  changed = policy_;
  changed.gateway = domain::InstanceName("other");
  EXPECT_THAT(refusal(changed), HasSubstr("gateway"));
  changed = policy_;
  changed.provider = domain::InstanceName("other");
  EXPECT_THAT(refusal(changed), HasSubstr("provider"));
  changed = policy_;
  changed.workspace = domain::WorkspaceKind::persistent;
  EXPECT_THAT(refusal(changed), HasSubstr("workspace"));
  changed = policy_;
  changed.max = 1;
  changed.labels = {"other"};
  EXPECT_EQ(refusal(changed), "");
}

TEST_F(ReloadTest, without_attempts_everything_may_change) {
  ready();
  answer_demand(1);
  end(world_.effects.front());
  ASSERT_TRUE(engine_->attempts().empty());
  domain::Policy changed = policy_;
  changed.target = *domain::Target::parse("acme/gadgets");
  EXPECT_EQ(refusal(changed), "");
  engine_->turn();
  answer_demand(policy_.target, {});  // was asked before
  EXPECT_EQ(engine_->targets().size(), 1U) << "the old target is asked no more";
  EXPECT_EQ(engine_->targets().front().target.target.str(), "acme/gadgets");
}

TEST_F(ReloadTest, a_removed_policy_drains_and_is_armed_again_when_it_comes_back) {
  ready();
  answer_demand(1);
  ASSERT_TRUE(engine_->reload(options(), {}).ok());
  engine_->turn();
  EXPECT_FALSE(view(policy_.name).configured);
  EXPECT_EQ(view(policy_.name).active, 1);
  EXPECT_EQ(engine_->targets().size(), 1U) << "what lives is supervised";
  // A failed step is not tried again for a policy that is gone.
  const Effect first = world_.effects.front();
  engine_->on_event({.attempt = first.attempt->id,
                     .seq = first.seq,
                     .body = lifecycle::event::Failed{.code = ErrorCode::unreachable}});
  world_.clock_ms += 120'000;
  engine_->turn();
  engine_->turn();
  EXPECT_EQ(engine_->attempts().front().state, State::failed);
  ASSERT_TRUE(engine_->reload(options(), {policy_}).ok());
  engine_->turn();
  EXPECT_TRUE(view(policy_.name).configured);
  ready();
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 2);
}

TEST_F(ReloadTest, a_paused_policy_starts_nothing_until_it_is_active_again) {
  ready();
  policy_.state = domain::PolicyState::paused;
  ASSERT_TRUE(engine_->reload(options(), {policy_}).ok());
  engine_->turn();
  ready();
  answer_demand(2);
  EXPECT_TRUE(world_.effects.empty());
  EXPECT_EQ(view(policy_.name).limited_by, LimitingFactor::paused);
  policy_.state = domain::PolicyState::active;
  ASSERT_TRUE(engine_->reload(options(), {policy_}).ok());
  engine_->turn();
  ready();
  answer_demand(2);
  EXPECT_EQ(count(EffectKind::acquire_package), 2);
}

TEST_F(ReloadTest, an_answer_about_what_the_policy_was_admits_nothing) {
  const auto asked = world_.probes.size();
  policy_.max = 2;
  ASSERT_TRUE(engine_->reload(options(), {policy_}).ok());
  engine_->turn();
  ready();  // answers the probe of the old definition
  EXPECT_EQ(world_.probes.size(), asked + 1) << "asked anew";
  answer_demand(1);
  EXPECT_TRUE(world_.effects.empty());
  ready();
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 1);
}

TEST_F(ReloadTest, a_changed_policy_is_no_longer_held) {
  ready();
  answer_demand(1);
  end(world_.effects.front());
  EXPECT_EQ(view(policy_.name).limited_by, LimitingFactor::held_after_refusal);
  policy_.max = 4;
  ASSERT_TRUE(engine_->reload(options(), {policy_}).ok());
  engine_->turn();
  ready();
  answer_demand(1);
  EXPECT_EQ(count(EffectKind::acquire_package), 2);
}

TEST_F(ReloadTest, slots_are_taken_from_the_lowest_gap_and_kept_until_clean) {
  policy_.workspace = domain::WorkspaceKind::persistent;
  policy_.max = 3;
  capacity_ = 10;
  open();
  ready();
  answer_demand(5);
  ASSERT_EQ(world_.effects.size(), 3U);
  std::vector<std::string> runtimes;
  for (const Effect& effect : world_.effects)
    runtimes.push_back(effect.attempt->runtime);
  EXPECT_EQ(runtimes, (std::vector<std::string>{"/runtimes/s1", "/runtimes/s2", "/runtimes/s3"}));
  // The second ends, but is not cleaned: its slot stays taken, and says so.
  const Effect second = world_.effects[1];
  engine_->on_event({.attempt = second.attempt->id,
                     .seq = second.seq,
                     .body = lifecycle::event::Failed{.code = ErrorCode::unreachable}});
  engine_->turn();
  world_.clock_ms += 2'000;
  answer_demand(0);
  engine_->turn();
  ASSERT_EQ(world_.effects.back().kind, EffectKind::destroy);
  world_.clock_ms += 10'000;
  ready();
  answer_demand(5);
  EXPECT_EQ(world_.effects.size(), 4U);
  EXPECT_EQ(view(policy_.name).limited_by, LimitingFactor::no_free_slot);
  engine_->on_event({.attempt = second.attempt->id,
                     .seq = world_.effects.back().seq,
                     .body = lifecycle::event::Destroyed{}});
  engine_->turn();
  engine_->on_event({.attempt = second.attempt->id,
                     .seq = world_.effects.back().seq,
                     .body = lifecycle::event::Scrubbed{}});
  engine_->turn();
  world_.clock_ms += 10'000;
  engine_->turn();
  answer_demand(5);
  EXPECT_EQ(world_.effects.back().attempt->runtime, "/runtimes/s2");
}

class ForgetTest : public ReloadTest {
 protected:
  // An attempt whose process nobody can tell anything about.
  domain::AttemptId unknown_one() {
    ready();
    answer_demand(1);
    const domain::AttemptId id = world_.effects.front().attempt->id;
    open();
    ready();
    return id;
  }
};

TEST_F(ForgetTest, the_operators_proof_lets_launches_go_on) {
  const auto id = unknown_one();
  ASSERT_FALSE(world_.looks.empty());
  engine_->on_look({.attempt = id, .pass = world_.looks.back().second});  // unknown
  engine_->turn();
  EXPECT_EQ(view(policy_.name).limited_by, LimitingFactor::recovering);
  ASSERT_TRUE(engine_->forget(id).ok());
  engine_->turn();
  const auto row = engine_->attempts().front();
  EXPECT_EQ(row.outcome->kind, domain::OutcomeKind::orphaned);
  EXPECT_TRUE(row.environment_removed);
  EXPECT_EQ(world_.effects.back().kind, EffectKind::scrub) << "the directory is removed as ever";
}

TEST_F(ForgetTest, one_that_was_seen_alive_is_not_forgotten) {
  const auto id = unknown_one();
  engine_->on_look(
      {.attempt = id, .pass = world_.looks.back().second, .environment = domain::EnvironmentView::running});
  engine_->turn();
  ASSERT_FALSE(world_.listings.empty());
  engine_->on_inventory({.target = world_.listings.back().first, .pass = world_.listings.back().second});
  engine_->turn();
  const auto refused = engine_->forget(id);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::denied);
}

TEST_F(ForgetTest, what_is_being_launched_or_unknown_is_refused) {
  ready();
  answer_demand(1);
  EXPECT_EQ(engine_->forget(world_.effects.front().attempt->id).error().code, ErrorCode::busy);
  EXPECT_EQ(engine_->forget(domain::AttemptId("nobody")).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace engine_test
