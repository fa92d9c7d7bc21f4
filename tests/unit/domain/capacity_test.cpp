#include "domain/capacity.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

PolicyDemand demand(std::string name = "a") {
  PolicyDemand made;
  made.policy = PolicyName{std::move(name)};
  made.target_key = "acme/widgets";
  made.max = 10;
  return made;
}

HostLimits host(std::int64_t capacity, std::int64_t active = 0) {
  HostLimits made;
  made.capacity = capacity;
  made.active = active;
  return made;
}

Grant one(const HostLimits& limits, const PolicyDemand& wanted) {
  const std::vector<Grant> grants = allocate(limits, {wanted});
  EXPECT_EQ(grants.size(), 1U);
  return grants.at(0);
}

std::vector<std::int64_t> starts(const HostLimits& limits, const std::vector<PolicyDemand>& demands) {
  std::vector<std::int64_t> counts;
  for (const Grant& grant : allocate(limits, demands))
    counts.push_back(grant.start);
  return counts;
}

using Starts = std::vector<std::int64_t>;

TEST(Capacity, ABusyRunnerNeverHidesAQueuedJob) {
  PolicyDemand wanted = demand();
  wanted.queued = wanted.busy = wanted.active = 5;
  const Grant grant = one(host(20, 5), wanted);
  EXPECT_EQ(grant.wanted, 10);
  EXPECT_EQ(grant.desired, 10);
  EXPECT_EQ(grant.start, 5);
  EXPECT_EQ(grant.limited_by, LimitingFactor::demand);
}

TEST(Capacity, AJobThatStaysQueuedWhileItsRunnerComesUpStartsNoSecondOne) {
  PolicyDemand wanted = demand();
  wanted.queued = 1;
  EXPECT_EQ(one(host(4), wanted).start, 1);
  wanted.active = 1;
  const Grant grant = one(host(4, 1), wanted);
  EXPECT_EQ(grant.start, 0);
  EXPECT_EQ(grant.limited_by, LimitingFactor::demand);
}

TEST(Capacity, ADeferredCleanupCostsTheHostButHidesNoJob) {
  PolicyDemand wanted = demand();
  wanted.queued = 2;
  EXPECT_EQ(one(host(3, 2), wanted).start, 1);
  EXPECT_EQ(one(host(3, 2), wanted).limited_by, LimitingFactor::host_capacity);
  EXPECT_EQ(one(host(4, 2), wanted).start, 2);
}

TEST(Capacity, AMatrixOfEightJobsStartsEightRunners) {
  PolicyDemand wanted = demand();
  wanted.queued = 8;
  EXPECT_EQ(one(host(8), wanted).start, 8);
}

TEST(Capacity, NoDemandStartsNothing) {
  const Grant grant = one(host(8), demand());
  EXPECT_EQ(grant.start, 0);
  EXPECT_EQ(grant.limited_by, LimitingFactor::demand);
}

TEST(Capacity, TheMinimumIsKeptWithoutDemand) {
  PolicyDemand wanted = demand();
  wanted.min = 2;
  EXPECT_EQ(one(host(8), wanted).start, 2);
  EXPECT_EQ(one(host(8), wanted).limited_by, LimitingFactor::policy_minimum);
  wanted.active = 2;
  EXPECT_EQ(one(host(8, 2), wanted).start, 0);
  wanted.queued = 3;
  EXPECT_EQ(one(host(8, 2), wanted).start, 1);
  EXPECT_EQ(one(host(8, 2), wanted).limited_by, LimitingFactor::demand);
}

TEST(Capacity, TheMaximumIsNotPassed) {
  PolicyDemand wanted = demand();
  wanted.max = 3;
  wanted.queued = 5;
  EXPECT_EQ(one(host(8), wanted).start, 3);
  EXPECT_EQ(one(host(8), wanted).limited_by, LimitingFactor::policy_maximum);
  wanted.max = 0;
  EXPECT_EQ(one(host(8), wanted).start, 0);
  EXPECT_EQ(one(host(8), wanted).limited_by, LimitingFactor::policy_maximum);
  wanted.min = 5;
  EXPECT_EQ(one(host(8), wanted).desired, 0);
}

TEST(Capacity, MoreRunningThanTheMaximumIsZeroAndNeverNegative) {
  PolicyDemand wanted = demand();
  wanted.max = 2;
  wanted.queued = 4;
  wanted.busy = wanted.active = 6;
  const Grant grant = one(host(8, 6), wanted);
  EXPECT_EQ(grant.start, 0);
  EXPECT_EQ(grant.desired, 2);
  EXPECT_EQ(grant.limited_by, LimitingFactor::policy_maximum);
}

TEST(Capacity, AHostThatIsOverfullStartsNothing) {
  PolicyDemand wanted = demand();
  wanted.queued = 4;
  EXPECT_EQ(one(host(2, 5), wanted).start, 0);
  EXPECT_EQ(one(host(2, 5), wanted).limited_by, LimitingFactor::host_capacity);
  EXPECT_EQ(one(host(0), wanted).start, 0);
  EXPECT_EQ(one(host(-3, -9), wanted).start, 0);
}

TEST(Capacity, NegativeCountsAreNone) {
  PolicyDemand wanted = demand();
  wanted.queued = -5;
  wanted.busy = 2;
  wanted.active = -7;
  wanted.min = -1;
  const Grant grant = one(host(8), wanted);
  EXPECT_EQ(grant.wanted, 2);
  EXPECT_EQ(grant.start, 2);
  wanted.max = -1;
  EXPECT_EQ(one(host(8), wanted).start, 0);
}

TEST(Capacity, CountsSaturate) {
  PolicyDemand wanted = demand();
  wanted.queued = wanted.busy = wanted.max = kMost;
  const Grant grant = one(host(kMost), wanted);
  EXPECT_EQ(grant.wanted, kMost);
  EXPECT_EQ(grant.start, kMost);
  PolicyDemand other = wanted;
  other.policy = PolicyName{"0"};
  other.active = kMost - 1;
  const Starts both = starts(host(kMost), {wanted, other});
  EXPECT_EQ(both[0], kMost - 1);
  EXPECT_EQ(both[1], 1);
}

TEST(Capacity, ABlockedPolicyStartsNothingAndSaysWhy) {
  for (int value = 1; value <= static_cast<int>(LimitingFactor::policy_minimum); ++value) {
    PolicyDemand wanted = demand();
    wanted.queued = 3;
    wanted.blocked = static_cast<LimitingFactor>(value);
    const Grant grant = one(host(8), wanted);
    EXPECT_EQ(grant.start, 0);
    EXPECT_EQ(grant.wanted, 3);
    EXPECT_EQ(grant.limited_by, wanted.blocked);
  }
}

TEST(Capacity, ABlockedPolicyTakesNothingFromTheOthers) {
  PolicyDemand paused = demand("a");
  paused.queued = 5;
  paused.priority = 9;
  paused.blocked = LimitingFactor::paused;
  PolicyDemand open = demand("b");
  open.queued = 5;
  EXPECT_EQ(starts(host(3), {paused, open}), (Starts{0, 3}));
}

TEST(Capacity, OneAllocatorDeductsEachGrantFromTheHost) {
  PolicyDemand a = demand("a");
  PolicyDemand b = demand("b");
  PolicyDemand c = demand("c");
  a.queued = b.queued = c.queued = 6;
  EXPECT_EQ(starts(host(3), {a, b, c}), (Starts{1, 1, 1}));
  EXPECT_EQ(starts(host(4), {c, b, a}), (Starts{1, 1, 2}));
}

TEST(Capacity, PriorityGoesFirstAndTakesAllThatItNeeds) {
  PolicyDemand low = demand("low");
  PolicyDemand high = demand("high");
  low.queued = high.queued = 3;
  high.priority = 1;
  EXPECT_EQ(starts(host(4), {low, high}), (Starts{1, 3}));
  EXPECT_EQ(starts(host(2), {low, high}), (Starts{0, 2}));
  EXPECT_EQ(allocate(host(2), {low, high})[0].limited_by, LimitingFactor::host_capacity);
  EXPECT_EQ(allocate(host(2), {low, high})[1].limited_by, LimitingFactor::host_capacity);
}

TEST(Capacity, WithEqualPriorityThePolicyWithTheFewestActiveGoesFirst) {
  PolicyDemand rich = demand("a");
  PolicyDemand poor = demand("b");
  rich.active = rich.busy = 4;
  rich.queued = poor.queued = 5;
  EXPECT_EQ(starts(host(7, 4), {rich, poor}), (Starts{0, 3}));
  EXPECT_EQ(starts(host(10, 4), {rich, poor}), (Starts{1, 5}));
}

TEST(Capacity, TheNameDecidesTheLastSlot) {
  PolicyDemand a = demand("a");
  PolicyDemand b = demand("b");
  a.queued = b.queued = 1;
  EXPECT_EQ(starts(host(1), {b, a}), (Starts{0, 1}));
}

TEST(Capacity, ATargetCapHoldsOverAllOfItsPolicies) {
  PolicyDemand a = demand("a");
  PolicyDemand b = demand("b");
  PolicyDemand other = demand("c");
  other.target_key = "acme/gadgets";
  a.queued = b.queued = other.queued = 6;
  HostLimits limits = host(20, 1);
  limits.target_cap = 4;
  limits.active_of_target["acme/widgets"] = 1;
  const std::vector<Grant> grants = allocate(limits, {a, b, other});
  EXPECT_EQ(grants[0].start, 2);
  EXPECT_EQ(grants[1].start, 1);
  EXPECT_EQ(grants[2].start, 4);
  for (const Grant& grant : grants)
    EXPECT_EQ(grant.limited_by, LimitingFactor::target_cap);
}

TEST(Capacity, AFullTargetLeavesItsSlotsToTheOthers) {
  PolicyDemand full = demand("a");
  full.priority = 5;
  full.queued = 6;
  PolicyDemand other = demand("b");
  other.target_key = "acme/gadgets";
  other.queued = 2;
  HostLimits limits = host(6, 4);
  limits.target_cap = 4;
  limits.active_of_target["acme/widgets"] = 7;
  EXPECT_EQ(starts(limits, {full, other}), (Starts{0, 2}));
}

TEST(Capacity, ReplacementsNeverRaiseTheNumberAboveDemand) {
  PolicyDemand wanted = demand();
  wanted.replacements = 3;
  EXPECT_EQ(one(host(8), wanted).start, 0);
  wanted.queued = 1;
  EXPECT_EQ(one(host(8), wanted).start, 1);
}

TEST(Capacity, APolicyStartsNoMoreThanItHasSlotsForAndLeavesTheRestToOthers) {
  PolicyDemand slots = demand("slots");
  slots.queued = 5;
  slots.free_slots = 2;
  PolicyDemand free = demand("free");
  free.queued = 5;
  EXPECT_EQ(starts(host(7), {slots, free}), (Starts{2, 5}));
  EXPECT_EQ(one(host(7), slots).limited_by, LimitingFactor::no_free_slot);
  slots.free_slots = -1;
  EXPECT_EQ(one(host(7), slots).start, 0);
  slots.free_slots = 5;
  EXPECT_EQ(one(host(7), slots).limited_by, LimitingFactor::demand);
}

TEST(Capacity, NobodyAsksNobodyIsAnswered) { EXPECT_TRUE(allocate(host(8), {}).empty()); }

TEST(Capacity, AChangeOfTheHostsCapacityCountsInTheNextCall) {
  PolicyDemand wanted = demand();
  wanted.queued = 9;
  EXPECT_EQ(one(host(2), wanted).start, 2);
  EXPECT_EQ(one(host(5), wanted).start, 5);
}

// ---- Against a model that hands out one slot at a time and looks at everything again for each

std::vector<std::int64_t> slow_starts(const HostLimits& limits, const std::vector<PolicyDemand>& demands) {
  std::vector<std::int64_t> given(demands.size(), 0);
  std::int64_t active = limits.active;
  std::map<std::string, std::int64_t> of_target = limits.active_of_target;
  while (active < limits.capacity) {
    std::size_t best = demands.size();
    for (std::size_t i = 0; i < demands.size(); ++i) {
      const PolicyDemand& d = demands[i];
      const std::int64_t desired = std::min(std::max(d.queued + d.busy, d.min), d.max);
      if (d.blocked != LimitingFactor::none || d.active + given[i] >= desired) continue;
      if (limits.target_cap > 0 && of_target[d.target_key] >= limits.target_cap) continue;
      if (best == demands.size()) {
        best = i;
        continue;
      }
      const PolicyDemand& b = demands[best];
      const auto rank = [&](const PolicyDemand& p, std::size_t at) {
        return std::make_tuple(-p.priority, p.active + given[at], p.policy);
      };
      if (rank(d, i) < rank(b, best)) best = i;
    }
    if (best == demands.size()) break;
    ++given[best];
    ++active;
    ++of_target[demands[best].target_key];
  }
  return given;
}

TEST(Capacity, GivesWhatOneSlotAtATimeWouldGive) {
  std::mt19937_64 random{20240521};
  const auto upto = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>{0, most}(random);
  };
  for (int round = 0; round < 20'000; ++round) {
    HostLimits limits = host(upto(40), upto(20));
    limits.target_cap = upto(2) == 0 ? 0 : upto(15);
    for (int target = 0; target < 3; ++target) {
      if (upto(1) == 0) limits.active_of_target[std::to_string(target)] = upto(8);
    }
    std::vector<PolicyDemand> demands;
    for (std::int64_t i = upto(6); i > 0; --i) {
      PolicyDemand made = demand(std::string(1, static_cast<char>('a' + upto(25))) + std::to_string(i));
      made.target_key = std::to_string(upto(2));
      made.min = upto(3);
      made.max = made.min + upto(12);
      made.priority = upto(2);
      made.queued = upto(12);
      made.busy = upto(6);
      made.active = made.busy + upto(4);
      if (upto(9) == 0) made.blocked = LimitingFactor::paused;
      demands.push_back(std::move(made));
    }
    ASSERT_EQ(starts(limits, demands), slow_starts(limits, demands)) << "round " << round;
    std::int64_t total = 0;
    for (const std::int64_t count : starts(limits, demands)) {
      ASSERT_GE(count, 0);
      total += count;
    }
    ASSERT_LE(total, std::max<std::int64_t>(limits.capacity - limits.active, 0));
  }
}

TEST(Capacity, HugeCountsOfManyPoliciesAreSharedFairly) {
  std::vector<PolicyDemand> demands;
  for (int i = 0; i < 200; ++i) {
    PolicyDemand made = demand("p" + std::to_string(1000 + i));
    made.queued = made.max = kMost;
    made.active = i * 1'000'003LL;
    demands.push_back(made);
  }
  std::int64_t total = 0;
  std::int64_t lowest = kMost;
  std::int64_t highest = 0;
  const Starts counts = starts(host(1'000'000'000'000'007), demands);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    lowest = std::min(lowest, counts[i] + demands[i].active);
    highest = std::max(highest, counts[i] + demands[i].active);
  }
  EXPECT_EQ(total, 1'000'000'000'000'007);
  EXPECT_LE(highest - lowest, 1);
}

}  // namespace
}  // namespace agent::domain
