#include <map>
#include <ostream>

#include "domain/capacity.hpp"
#include "domain/slots.hpp"
#include "unit/properties/check.hpp"

namespace agent::domain {

void showValue(const PolicyDemand& demand, std::ostream& out) {
  out << demand.policy.str() << " of " << demand.target_key << " min " << demand.min << " max " << demand.max
      << " priority " << demand.priority << " queued " << demand.queued << " busy " << demand.busy
      << " active " << demand.active << " free slots "
      << (demand.free_slots ? std::to_string(*demand.free_slots) : "any") << " " << to_string(demand.blocked);
}

void showValue(const HostLimits& host, std::ostream& out) {
  out << "capacity " << host.capacity << " active " << host.active << " target cap " << host.target_cap;
  for (const auto& [target, active] : host.active_of_target)
    out << " " << target << ": " << active;
}

}  // namespace agent::domain

namespace properties {
namespace {

using namespace agent::domain;
using rc::gen::inRange;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Wide natural(std::int64_t count) { return std::max<std::int64_t>(count, 0); }
std::int64_t saturated(Wide count) { return static_cast<std::int64_t>(std::min<Wide>(count, kMost)); }

rc::Gen<std::int64_t> small() { return inRange<std::int64_t>(-1, 12); }
rc::Gen<std::int64_t> any() {
  return rc::gen::oneOf(
      small(), rc::gen::elementOf(std::vector<std::int64_t>{kMost, kMost - 1, kMost / 2, -kMost - 1}),
      rc::gen::arbitrary<std::int64_t>());
}

struct Situation {
  HostLimits host;
  std::vector<PolicyDemand> demands;
};

void showValue(const Situation& situation, std::ostream& out) {
  agent::domain::showValue(situation.host, out);
  for (const PolicyDemand& demand : situation.demands) {
    out << "\n  ";
    agent::domain::showValue(demand, out);
  }
}

rc::Gen<Situation> situations(rc::Gen<std::int64_t> (*count)()) {
  return rc::gen::exec([count] {
    Situation made;
    made.host.capacity = *count();
    made.host.active = *count();
    made.host.target_cap = *rc::gen::oneOf(rc::gen::just<std::int64_t>(0), count());
    for (const char* target : {"a", "b"}) {
      if (*rc::gen::arbitrary<bool>()) made.host.active_of_target[target] = *count();
    }
    const int policies = *inRange(0, 6);
    for (int number = 0; number < policies; ++number) {
      PolicyDemand demand;
      demand.policy = PolicyName("p" + std::to_string(number));
      demand.target_key = *rc::gen::element<std::string>("a", "b", "c");
      demand.min = *count();
      demand.max = *count();
      demand.priority = *inRange<std::int64_t>(-1, 2);
      demand.queued = *count();
      demand.busy = *count();
      demand.active = *count();
      if (*rc::gen::weightedElement<bool>({{1, true}, {2, false}})) demand.free_slots = *count();
      demand.replacements = *count();
      demand.blocked = *rc::gen::weightedElement<LimitingFactor>(
          {{5, LimitingFactor::none}, {1, LimitingFactor::paused}, {1, LimitingFactor::recovering}});
      made.demands.push_back(std::move(demand));
    }
    made.demands = shuffled(std::move(made.demands), *rc::gen::arbitrary<std::uint64_t>());
    return made;
  });
}

Wide headroom(const HostLimits& host) {
  return std::max<Wide>(natural(host.capacity) - natural(host.active), 0);
}

// What the cap leaves of a target; nothing without a cap.
std::optional<Wide> left_of_target(const HostLimits& host, const std::string& target) {
  if (host.target_cap <= 0) return std::nullopt;
  const auto active = host.active_of_target.find(target);
  const Wide used = active == host.active_of_target.end() ? 0 : natural(active->second);
  return std::max<Wide>(natural(host.target_cap) - used, 0);
}

std::int64_t desired(const PolicyDemand& demand) {
  const Wide wanted = natural(demand.queued) + natural(demand.busy);
  return saturated(std::min(std::max(wanted, natural(demand.min)), natural(demand.max)));
}

// Still wanted by a policy that nothing blocks, as far as its slots go.
Wide needed(const PolicyDemand& demand) {
  if (demand.blocked != LimitingFactor::none) return 0;
  Wide need = std::max<Wide>(Wide{desired(demand)} - natural(demand.active), 0);
  if (demand.free_slots) need = std::min(need, natural(*demand.free_slots));
  return need;
}

// One slot after the other to whoever is first in line.
std::map<PolicyName, std::int64_t> one_at_a_time(const Situation& situation) {
  std::map<PolicyName, std::int64_t> given;
  std::map<std::string, Wide> of_target;
  for (Wide left = headroom(situation.host); left > 0; --left) {
    const PolicyDemand* first = nullptr;
    const auto place = [&given](const PolicyDemand& demand) {
      return std::tuple(-demand.priority, natural(demand.active) + given[demand.policy], demand.policy);
    };
    for (const PolicyDemand& demand : situation.demands) {
      const auto cap = left_of_target(situation.host, demand.target_key);
      const bool open =
          needed(demand) > given[demand.policy] && (!cap || *cap > of_target[demand.target_key]);
      if (open && (first == nullptr || place(demand) < place(*first))) first = &demand;
    }
    if (first == nullptr) break;
    ++given[first->policy];
    ++of_target[first->target_key];
  }
  return given;
}

std::map<PolicyName, Grant> by_policy(const std::vector<Grant>& grants) {
  std::map<PolicyName, Grant> found;
  for (const Grant& grant : grants)
    found[grant.policy] = grant;
  return found;
}

void check_limits(const Situation& situation) {
  const std::vector<Grant> grants = allocate(situation.host, situation.demands);
  RC_ASSERT(grants.size() == situation.demands.size());
  Wide all = 0;
  std::map<std::string, Wide> of_target;
  for (std::size_t index = 0; index < grants.size(); ++index) {
    const PolicyDemand& demand = situation.demands[index];
    const Grant& grant = grants[index];
    RC_ASSERT(grant.policy == demand.policy);
    RC_ASSERT(grant.wanted == saturated(natural(demand.queued) + natural(demand.busy)));
    RC_ASSERT(grant.desired == desired(demand));
    RC_ASSERT(grant.start >= 0);
    RC_ASSERT(Wide{grant.start} <= needed(demand));
    RC_ASSERT(natural(demand.active) + grant.start <=
              std::max<Wide>(natural(demand.active), natural(demand.max)));
    if (demand.blocked != LimitingFactor::none) RC_ASSERT(grant.start == 0);
    all += grant.start;
    of_target[demand.target_key] += grant.start;
  }
  RC_ASSERT(all <= headroom(situation.host));
  for (const auto& [target, started] : of_target) {
    const auto cap = left_of_target(situation.host, target);
    if (cap) RC_ASSERT(started <= *cap);
  }
}

RC_GTEST_PROP(Allocation, never_exceeds_a_limit, ()) { check_limits(*situations(small)); }
RC_GTEST_PROP(Allocation, never_exceeds_a_limit_whatever_the_numbers_are, ()) {
  check_limits(*situations(any));
}

RC_GTEST_PROP(Allocation, gives_what_one_slot_at_a_time_gives, ()) {
  const Situation situation = *situations(small);
  auto expected = one_at_a_time(situation);
  for (const Grant& grant : allocate(situation.host, situation.demands))
    RC_ASSERT(grant.start == expected[grant.policy]);
}

RC_GTEST_PROP(Allocation, one_more_place_takes_nothing_from_anybody_and_gives_one_at_most, ()) {
  Situation situation = *situations(small);
  situation.host.active = std::max<std::int64_t>(situation.host.active, 0);
  situation.host.capacity = std::max<std::int64_t>(situation.host.capacity, 0);
  auto before = by_policy(allocate(situation.host, situation.demands));
  ++situation.host.capacity;
  std::int64_t more = 0;
  for (const Grant& grant : allocate(situation.host, situation.demands)) {
    RC_ASSERT(grant.start >= before[grant.policy].start);
    more += grant.start - before[grant.policy].start;
  }
  RC_ASSERT(more <= 1);
}

RC_GTEST_PROP(Allocation, does_not_depend_on_the_order_of_the_policies, ()) {
  const Situation situation = *situations(any);
  auto expected = by_policy(allocate(situation.host, situation.demands));
  const auto order = *rc::gen::arbitrary<std::uint64_t>();
  for (const Grant& grant : allocate(situation.host, shuffled(situation.demands, order))) {
    RC_ASSERT(grant.start == expected[grant.policy].start);
    RC_ASSERT(grant.limited_by == expected[grant.policy].limited_by);
  }
}

// A blocked policy is as good as none to all others.
RC_GTEST_PROP(Allocation, a_blocked_policy_takes_nothing_from_others, ()) {
  Situation situation = *situations(small);
  auto expected = by_policy(allocate(situation.host, situation.demands));
  std::erase_if(situation.demands,
                [](const PolicyDemand& demand) { return demand.blocked != LimitingFactor::none; });
  for (const Grant& grant : allocate(situation.host, situation.demands))
    RC_ASSERT(grant.start == expected[grant.policy].start);
}

RC_GTEST_PROP(Allocation, says_truly_why_not_one_more_is_started, ()) {
  const Situation situation = *situations(small);
  const std::vector<Grant> grants = allocate(situation.host, situation.demands);
  Wide all = 0;
  std::map<std::string, Wide> of_target;
  for (std::size_t index = 0; index < grants.size(); ++index) {
    all += grants[index].start;
    of_target[situation.demands[index].target_key] += grants[index].start;
  }
  for (std::size_t index = 0; index < grants.size(); ++index) {
    const PolicyDemand& demand = situation.demands[index];
    const Grant& grant = grants[index];
    const bool kept_back = needed(demand) > grant.start;
    const auto cap = left_of_target(situation.host, demand.target_key);
    if (demand.blocked != LimitingFactor::none) {
      RC_ASSERT(grant.limited_by == demand.blocked);
      continue;
    }
    RC_ASSERT(kept_back == (grant.limited_by == LimitingFactor::host_capacity ||
                            grant.limited_by == LimitingFactor::target_cap));
    switch (grant.limited_by) {
      case LimitingFactor::host_capacity: RC_ASSERT(all == headroom(situation.host)); break;
      case LimitingFactor::target_cap: RC_ASSERT(cap && of_target[demand.target_key] == *cap); break;
      case LimitingFactor::no_free_slot: RC_ASSERT(natural(*demand.free_slots) == grant.start); break;
      case LimitingFactor::policy_maximum: RC_ASSERT(grant.wanted > grant.desired); break;
      case LimitingFactor::policy_minimum: RC_ASSERT(grant.wanted < grant.desired); break;
      default:
        RC_ASSERT(grant.limited_by == LimitingFactor::demand);
        RC_ASSERT(grant.wanted == grant.desired);
    }
  }
}

RC_GTEST_PROP(Slots, the_lowest_that_nobody_holds,
              (const std::set<std::uint8_t>& taken, std::uint8_t ceiling)) {
  const std::set<std::int64_t> held(taken.begin(), taken.end());
  const auto slot = free_slot(held, ceiling);
  std::int64_t below = 1;
  while (below <= ceiling && held.contains(below))
    ++below;
  RC_ASSERT(slot.has_value() == (below <= ceiling));
  if (slot) RC_ASSERT(*slot == below);
}

}  // namespace
}  // namespace properties
