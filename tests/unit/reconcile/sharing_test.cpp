// Several policies and targets on one host, and why one of them starts nothing.
#include <gmock/gmock.h>

#include "unit/reconcile/engine_fixture.hpp"

namespace engine_test {
namespace {

using domain::LimitingFactor;
using ::testing::Contains;
using ::testing::HasSubstr;

class SharingTest : public EngineTest {
 protected:
  SharingTest() {
    other_ = policy_;
    other_.name = domain::PolicyName("other");
    other_.target = *domain::Target::parse("acme/gadgets");
    other_.root = "/others";
  }
  void open_both() {
    more_policies_ = {other_};
    open();
    ready();
    ready(other_.name);
  }
  std::int64_t granted(const domain::Policy& policy) {
    std::int64_t count = 0;
    for (const auto& attempt : engine_->attempts())
      count += attempt.policy.name == policy.name ? 1 : 0;
    return count;
  }
  std::vector<domain::Job> jobs(const domain::Policy& policy, std::int64_t from, std::int64_t count) {
    std::vector<domain::Job> made;
    for (std::int64_t id = from; id < from + count; ++id)
      made.push_back(job(id, {"self-hosted"}, policy.target.str()));
    return made;
  }

  domain::Policy other_;
};

TEST_F(SharingTest, the_order_of_the_passes_does_not_beat_priority) {
  other_.priority = 5;
  capacity_ = 0;
  open_both();
  // Both are known to want more than there is, and then there is room.
  answer_demand(policy_.target, jobs(policy_, 1, 4));
  answer_demand(other_.target, jobs(other_, 11, 2));
  ASSERT_TRUE(engine_->attempts().empty());
  const reconcile::EngineOptions options{
      .host_capacity = 3, .poll_quiet = domain::Millis{10'000}, .poll_active = domain::Millis{10'000}};
  ASSERT_TRUE(engine_->reload(options, {policy_, other_}).ok());
  engine_->turn();
  answer_demand(policy_.target, jobs(policy_, 1, 4));
  EXPECT_EQ(granted(policy_), 1) << "two of three are kept for the one that goes first";
  answer_demand(other_.target, jobs(other_, 11, 2));
  EXPECT_EQ(granted(other_), 2);
}

TEST_F(SharingTest, what_is_kept_for_another_target_is_given_when_it_is_not_wanted_any_more) {
  other_.priority = 5;
  capacity_ = 0;
  open_both();
  answer_demand(policy_.target, jobs(policy_, 1, 4));
  answer_demand(other_.target, jobs(other_, 11, 2));
  const reconcile::EngineOptions options{
      .host_capacity = 3, .poll_quiet = domain::Millis{10'000}, .poll_active = domain::Millis{10'000}};
  ASSERT_TRUE(engine_->reload(options, {policy_, other_}).ok());
  engine_->turn();
  answer_demand(policy_.target, jobs(policy_, 1, 4));
  answer_demand(other_.target, {});
  world_.clock_ms += 10'000;
  engine_->turn();
  answer_demand(policy_.target, jobs(policy_, 1, 4));
  EXPECT_EQ(granted(policy_), 3);
}

TEST_F(SharingTest, a_target_that_cannot_be_asked_keeps_nothing_back) {
  other_.priority = 5;
  capacity_ = 0;
  open_both();
  answer_demand(policy_.target, jobs(policy_, 1, 4));
  answer_demand(other_.target, jobs(other_, 11, 2));
  const reconcile::EngineOptions options{
      .host_capacity = 3, .poll_quiet = domain::Millis{10'000}, .poll_active = domain::Millis{10'000}};
  ASSERT_TRUE(engine_->reload(options, {policy_, other_}).ok());
  engine_->turn();
  for (auto asked = world_.demands.rbegin(); asked != world_.demands.rend(); ++asked) {
    if (asked->first.target != other_.target) continue;
    engine_->on_demand({.target = asked->first,
                        .pass = asked->second,
                        .failure = reconcile::GatewayFailure{.code = domain::ErrorCode::unreachable}});
    break;
  }
  engine_->turn();
  answer_demand(policy_.target, jobs(policy_, 1, 4));
  EXPECT_EQ(granted(policy_), 3);
}

TEST_F(SharingTest, a_job_that_an_organization_and_its_repository_serve_gets_one_runner) {
  other_.target = *domain::Target::parse("acme");
  capacity_ = 10;
  open_both();
  const auto both = jobs(policy_, 1, 2);
  answer_demand(other_.target, both);
  EXPECT_EQ(granted(other_), 0) << "the repository's policy goes first";
  answer_demand(policy_.target, both);
  EXPECT_EQ(granted(policy_), 2);
  answer_demand(other_.target, both);
  EXPECT_EQ(engine_->attempts().size(), 2U);
}

TEST_F(SharingTest, explains_a_job_that_no_policy_matches_without_its_words) {
  open_both();
  answer_demand(policy_.target, {job(7, {"self-hosted", "needle-gpu"})});
  const auto explained = engine_->explain(domain::JobId(7));
  ASSERT_TRUE(explained);
  EXPECT_THAT(explained->facts, Contains(HasSubstr("Policy policy lacks 1 label of it.")));
  EXPECT_THAT(explained->factors, Contains(HasSubstr("No policy offers all labels")));
  EXPECT_FALSE(explained->remedies.empty());
  for (const auto& fact : explained->facts)
    EXPECT_EQ(fact.find("needle"), std::string::npos);
  EXPECT_FALSE(engine_->explain(domain::JobId(8)));
}

TEST_F(SharingTest, explains_a_job_that_waits_by_what_limits_its_policy) {
  capacity_ = 1;
  open_both();
  answer_demand(policy_.target, jobs(policy_, 1, 3));
  const auto explained = engine_->explain(domain::JobId(3));
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->limited_by, LimitingFactor::host_capacity);
  EXPECT_THAT(explained->facts, Contains(HasSubstr("The host runs 1 of 1 runner.")));
  EXPECT_THAT(explained->remedies, Contains(HasSubstr("raise `host.capacity`")));
}

TEST_F(SharingTest, explains_everything_that_stands_in_the_way) {
  policy_.state = domain::PolicyState::paused;
  open_both();
  engine_->on_readiness({.policy = policy_.name,
                         .blocked = LimitingFactor::root_refused,
                         .remedy = "chmod go-w /runtimes",
                         .note = {}});
  engine_->turn();
  const auto explained = engine_->explain(policy_.name);
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->limited_by, LimitingFactor::paused);
  ASSERT_EQ(explained->factors.size(), 2U);
  EXPECT_THAT(explained->factors[1], HasSubstr("(chmod go-w /runtimes)"));
  EXPECT_FALSE(engine_->explain(domain::PolicyName("nobody")));
}

TEST_F(SharingTest, explains_a_job_that_runs_by_its_attempt) {
  open_both();
  answer_demand(policy_.target, jobs(policy_, 1, 1));
  auto running = job(1);
  running.queued = false;
  running.runner_name = domain::runner_name(engine_->attempts().front().id);
  world_.clock_ms += 10'000;
  engine_->turn();
  answer_demand(policy_.target, {running});
  const auto explained = engine_->explain(domain::JobId(1));
  ASSERT_TRUE(explained);
  EXPECT_THAT(explained->facts,
              Contains(HasSubstr("runs on attempt " + engine_->attempts().front().id.str())));
}

}  // namespace
}  // namespace engine_test
