// What is prepared ahead of jobs, as the allocator counts it.
#include <gtest/gtest.h>

#include "domain/capacity.hpp"

namespace agent::domain {
namespace {

struct Row {
  const char* what;
  std::int64_t capacity, others, max, min, queued, busy, active, ahead, warm;
  LimitingFactor blocked;
  std::int64_t claim, start, start_ahead, short_of;
};

constexpr auto kFree = LimitingFactor::none;

class Warm : public ::testing::TestWithParam<Row> {};

TEST_P(Warm, CountsAreAsStated) {
  const Row& row = GetParam();
  SCOPED_TRACE(row.what);
  PolicyDemand demand;
  demand.policy = PolicyName("a");
  demand.target_key = "acme/widgets";
  demand.max = row.max;
  demand.min = row.min;
  demand.queued = row.queued;
  demand.busy = row.busy;
  demand.active = row.active;
  demand.ahead = row.ahead;
  demand.warm = row.warm;
  demand.blocked = row.blocked;
  HostLimits host;
  host.capacity = row.capacity;
  host.active = row.others + row.active;
  const Grant grant = allocate(host, {demand}).at(0);
  EXPECT_EQ(grant.claim, row.claim);
  EXPECT_EQ(grant.start, row.start);
  EXPECT_EQ(grant.start_ahead, row.start_ahead);
  EXPECT_EQ(grant.short_of, row.short_of);
}

INSTANTIATE_TEST_SUITE_P(
    Every, Warm,
    ::testing::Values(
        Row{"nothing to do: the pool is filled", 9, 0, 9, 0, 0, 0, 0, 0, 2, kFree, 0, 0, 2, 0},
        Row{"a full pool stays", 9, 0, 9, 0, 0, 0, 2, 2, 2, kFree, 0, 0, 0, 0},
        Row{"a job claims and the pool is refilled", 9, 0, 9, 0, 1, 0, 2, 2, 2, kFree, 1, 0, 1, 0},
        Row{"a busy runner claims nothing", 9, 0, 9, 0, 0, 1, 3, 2, 2, kFree, 0, 0, 0, 0},
        Row{"a job whose runner comes up claims no second one", 9, 0, 9, 0, 1, 0, 3, 2, 2, kFree, 0, 0, 0, 0},
        Row{"more jobs than wait", 9, 0, 9, 0, 5, 0, 2, 2, 2, kFree, 2, 3, 2, 0},
        Row{"the maximum holds for all of them", 9, 0, 3, 0, 2, 0, 2, 2, 2, kFree, 2, 0, 1, 0},
        Row{"and leaves none to wait", 9, 0, 3, 0, 5, 0, 2, 2, 2, kFree, 2, 1, 0, 0},
        Row{"what the host cannot hold waits, and nothing is made ahead", 3, 0, 9, 0, 5, 0, 2, 2, 2, kFree, 2,
            1, 0, 2},
        Row{"others' load counts", 4, 3, 9, 0, 0, 0, 0, 0, 2, kFree, 0, 0, 1, 0},
        Row{"a minimum is claimed for", 9, 0, 9, 1, 0, 0, 2, 2, 2, kFree, 1, 0, 1, 0},
        Row{"a blocked policy claims and prepares nothing", 9, 0, 9, 0, 3, 0, 1, 1, 2,
            LimitingFactor::held_after_refusal, 0, 0, 0, 0},
        Row{"no pool is wanted", 9, 0, 9, 0, 1, 0, 0, 0, 0, kFree, 0, 1, 0, 0}));

TEST(WarmOrder, ANewJobOfAnotherPolicyComesBeforeEveryPool) {
  PolicyDemand pool, jobs;
  pool.policy = PolicyName("a");
  pool.target_key = jobs.target_key = "acme/widgets";
  pool.max = jobs.max = 9;
  pool.priority = 5;
  pool.warm = 4;
  jobs.policy = PolicyName("b");
  jobs.queued = 3;
  HostLimits host;
  host.capacity = 4;
  const auto grants = allocate(host, {pool, jobs});
  EXPECT_EQ(grants[1].start, 3);
  EXPECT_EQ(grants[0].start_ahead, 1);
}

TEST(WarmOrder, APoolThatIsTooLargeKnowsHowManyMayStay) {
  PolicyDemand demand;
  demand.max = 3;
  demand.warm = 2;
  demand.ahead = 2;
  demand.active = 4;
  demand.busy = 2;
  EXPECT_EQ(most_ahead(demand), 1);
  demand.warm = 0;
  EXPECT_EQ(most_ahead(demand), 0);
  demand.warm = 2;
  demand.active = 2;
  demand.busy = 0;
  EXPECT_EQ(most_ahead(demand), 2);
}

}  // namespace
}  // namespace agent::domain
