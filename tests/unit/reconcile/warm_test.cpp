// Runners that are prepared ahead, as the engine grants, claims and ends them.
#include "engine_fixture.hpp"

namespace engine_test {
namespace {

class WarmEngine : public EngineTest {
 protected:
  WarmEngine() {
    policy_.provider_kind = domain::ProviderKind::isolated;
    policy_.profile.image = "runner:1";
    policy_.warm = 2;
    open();
    ready_with("runner@sha256:1");
    world_.effects.clear();
  }
  void ready_with(const std::string& image) {
    reconcile::ReadinessAnswer answer;
    answer.policy = policy_.name;
    answer.image = image;
    answer.package_inside = true;
    engine_->on_readiness(answer);
    engine_->turn();
  }
  void next_demand(int queued) {
    world_.clock_ms += 10'000;
    engine_->turn();
    answer_looks(domain::EnvironmentView::prepared);
    answer_demand(queued);
  }
  // Lets every open effect of a launch succeed until all wait.
  void let_all_wait() {
    while (!world_.effects.empty()) {
      const auto effects = std::exchange(world_.effects, {});
      for (const Effect& effect : effects)
        succeed(effect);
    }
  }
  std::int64_t waiting() { return engine_->policies().front().waiting; }
  void reload() {
    ASSERT_TRUE(engine_
                    ->reload({.host_capacity = capacity_,
                              .poll_quiet = domain::Millis{10'000},
                              .poll_active = domain::Millis{10'000}},
                             {policy_})
                    .ok());
    engine_->turn();
  }
};

TEST_F(WarmEngine, the_pool_is_filled_without_a_job_and_registers_nothing) {
  answer_demand(0);
  EXPECT_EQ(count(EffectKind::materialize), 2);
  EXPECT_EQ(count(EffectKind::acquire_package), 0) << "the package is in the image";
  let_all_wait();
  EXPECT_EQ(waiting(), 2);
  EXPECT_EQ(engine_->active(), 2) << "they cost the host";
  for (const auto& attempt : engine_->attempts()) {
    EXPECT_EQ(attempt.state, State::prepared);
    EXPECT_FALSE(attempt.jit_requested_at.has_value());
    EXPECT_TRUE(row_of(attempt.id).ahead);
  }
}

TEST_F(WarmEngine, waiting_asks_github_for_no_listing_and_slows_no_poll) {
  answer_demand(0);
  let_all_wait();
  world_.listings.clear();
  next_demand(0);
  EXPECT_TRUE(world_.listings.empty());
  EXPECT_EQ(waiting(), 2);
}

TEST_F(WarmEngine, a_job_claims_one_and_another_is_prepared) {
  answer_demand(0);
  let_all_wait();
  next_demand(1);
  EXPECT_EQ(count(EffectKind::register_runner), 1);
  EXPECT_EQ(count(EffectKind::materialize), 1);
  EXPECT_EQ(engine_->attempts().size(), 3U);
}

TEST_F(WarmEngine, a_pool_makes_room_for_the_jobs_of_others) {
  domain::Policy other = policy_;
  other.name = domain::PolicyName("other");
  other.warm = 0;
  other.root = "/others";
  other.labels = {"self-hosted", "other"};
  more_policies_ = {other};
  open();
  ready_with("runner@sha256:1");
  ready(other.name);
  answer_demand(0);
  let_all_wait();
  ASSERT_EQ(engine_->active(), 2);
  world_.clock_ms += 10'000;
  engine_->turn();
  answer_looks(domain::EnvironmentView::prepared);
  std::vector<domain::Job> jobs;
  for (int index = 1; index <= 3; ++index)
    jobs.push_back(job(index, {"self-hosted", "other"}));
  answer_demand(policy_.target, jobs);
  EXPECT_EQ(count(EffectKind::destroy), 2) << "the host holds three, and three jobs wait";
  let_all_wait();
  EXPECT_EQ(engine_->policies().front().waiting + engine_->policies().back().waiting, 0);
}

TEST_F(WarmEngine, another_definition_or_image_ends_what_was_prepared_for_the_old_one) {
  answer_demand(0);
  let_all_wait();
  ready_with("runner@sha256:1");
  EXPECT_EQ(count(EffectKind::destroy), 0) << "the same image";
  ready_with("runner@sha256:2");
  EXPECT_EQ(count(EffectKind::destroy), 2);
  let_all_wait();
  next_demand(0);
  let_all_wait();
  ASSERT_EQ(waiting(), 2);
  policy_.labels.emplace_back("more");
  reload();
  EXPECT_EQ(count(EffectKind::destroy), 2);
}

TEST_F(WarmEngine, a_smaller_pool_shrinks_and_a_paused_policy_keeps_none) {
  answer_demand(0);
  let_all_wait();
  policy_.warm = 1;
  reload();
  ready_with("runner@sha256:1");
  next_demand(0);
  EXPECT_EQ(count(EffectKind::destroy), 1);
  let_all_wait();
  EXPECT_EQ(waiting(), 1);
  policy_.state = domain::PolicyState::paused;
  reload();
  EXPECT_EQ(count(EffectKind::destroy), 1);
  let_all_wait();
  EXPECT_TRUE(engine_->attempts().empty());
}

TEST_F(WarmEngine, a_drain_ends_what_waits_before_the_agent_is_quiet) {
  answer_demand(0);
  let_all_wait();
  engine_->drain();
  EXPECT_FALSE(engine_->quiescent());
  engine_->turn();
  EXPECT_EQ(count(EffectKind::destroy), 2);
  let_all_wait();
  EXPECT_TRUE(engine_->quiescent());
  EXPECT_EQ(engine_->active(), 0);
}

TEST_F(WarmEngine, what_is_lost_is_made_again_after_a_while_and_not_at_once) {
  answer_demand(0);
  let_all_wait();
  answer_demand(0);
  world_.clock_ms += 10'000;
  engine_->turn();
  answer_looks(domain::EnvironmentView::missing);
  let_all_wait();
  EXPECT_EQ(engine_->active(), 0);
  answer_demand(0);
  EXPECT_EQ(engine_->active(), 0);
  world_.clock_ms += 60'000;
  ready_with("runner@sha256:1");
  engine_->turn();
  answer_demand(0);
  EXPECT_EQ(engine_->active(), 2);
}

TEST_F(WarmEngine, a_failed_preparation_is_tried_again_later_and_ends_nothing_that_waits) {
  answer_demand(0);
  const auto effects = std::exchange(world_.effects, {});
  ASSERT_EQ(effects.size(), 2U);
  succeed(effects[0]);
  let_all_wait();
  succeed(effects[1]);
  ASSERT_EQ(world_.effects.back().kind, EffectKind::prepare);
  fail(world_.effects.back(), domain::ErrorCode::unreachable);
  EXPECT_EQ(waiting(), 1);
  let_all_wait();
  next_demand(0);
  EXPECT_EQ(waiting(), 1) << "it pauses";
}

}  // namespace
}  // namespace engine_test
