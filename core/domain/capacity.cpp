#include "domain/capacity.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace agent::domain {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::int64_t natural(std::int64_t count) { return std::max<std::int64_t>(count, 0); }

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(natural(a), natural(b), &result) ? kUnlimited : result;
}

std::int64_t left_of(std::int64_t limit, std::int64_t used) {
  return std::max<std::int64_t>(natural(limit) - natural(used), 0);
}

// One policy while slots are handed out.
struct Share {
  const PolicyDemand* demand = nullptr;
  Grant grant;
  std::int64_t needed = 0;         // still wanted and not granted
  bool short_of_slots = false;     // more is wanted than it can lease
  std::int64_t level = 0;          // live attempts, granted ones included
  std::int64_t* target = nullptr;  // what its target's cap still allows
};

Share share_of(const PolicyDemand& demand, std::int64_t* target) {
  Share share{&demand, {}, 0, false, natural(demand.active), target};
  share.grant.policy = demand.policy;
  share.grant.wanted = sum(demand.queued, demand.busy);
  share.grant.desired = std::min(std::max(share.grant.wanted, natural(demand.min)), natural(demand.max));
  if (demand.blocked == LimitingFactor::none) {
    share.needed = left_of(share.grant.desired, left_of(demand.active, demand.ahead));
    share.grant.claim = std::min(share.needed, natural(demand.ahead));
    share.needed -= share.grant.claim;
  }
  share.short_of_slots = demand.free_slots && natural(*demand.free_slots) < share.needed;
  if (share.short_of_slots) share.needed = natural(*demand.free_slots);
  return share;
}

bool before(const Share* a, const Share* b) {
  if (a->demand->priority != b->demand->priority) return a->demand->priority > b->demand->priority;
  if (a->level != b->level) return a->level < b->level;
  return a->demand->policy < b->demand->policy;
}

// The best candidates, in order: all that share the highest priority and, in it, the lowest level. `next` is
// the level at which others join them.
std::vector<Share*> front(std::vector<Share>& shares, std::int64_t& next) {
  std::vector<Share*> open;
  for (Share& share : shares) {
    if (share.needed > 0 && *share.target > 0) open.push_back(&share);
  }
  std::stable_sort(open.begin(), open.end(), before);
  next = kUnlimited;
  const auto end = std::find_if(open.begin(), open.end(), [&](const Share* share) {
    return share->demand->priority != open.front()->demand->priority || share->level != open.front()->level;
  });
  if (end != open.end() && (*end)->demand->priority == open.front()->demand->priority) next = (*end)->level;
  open.erase(end, open.end());
  return open;
}

// How many slots each of the front can take in turn before anything about their order or limits changes.
// Handing these out at once gives what one slot at a time would give, in time that does not depend on counts.
std::int64_t whole_rounds(const std::vector<Share*>& front, std::int64_t next, std::int64_t headroom) {
  std::map<const std::int64_t*, std::int64_t> of_target;
  for (const Share* share : front)
    ++of_target[share->target];
  std::int64_t rounds = std::min(headroom / static_cast<std::int64_t>(front.size()), next - front[0]->level);
  for (const Share* share : front)
    rounds = std::min(rounds, share->needed);
  for (const auto& [left, count] : of_target)
    rounds = std::min(rounds, *left / count);
  return rounds;
}

void give(Share& share, std::int64_t slots, std::int64_t Grant::*to, std::int64_t& headroom) {
  share.grant.*to += slots;
  share.needed -= slots;
  share.level += slots;
  *share.target -= slots;
  headroom -= slots;
}

LimitingFactor limit_of(const Share& share, std::int64_t headroom) {
  if (share.demand->blocked != LimitingFactor::none) return share.demand->blocked;
  if (share.needed > 0) return headroom > 0 ? LimitingFactor::target_cap : LimitingFactor::host_capacity;
  if (share.short_of_slots) return LimitingFactor::no_free_slot;
  if (share.grant.desired < share.grant.wanted) return LimitingFactor::policy_maximum;
  return share.grant.desired > share.grant.wanted ? LimitingFactor::policy_minimum : LimitingFactor::demand;
}

void hand_out(std::vector<Share>& shares, std::int64_t Grant::*to, std::int64_t& headroom) {
  while (headroom > 0) {
    std::int64_t next = 0;
    const std::vector<Share*> best = front(shares, next);
    if (best.empty()) return;
    const std::int64_t rounds = whole_rounds(best, next, headroom);
    if (rounds == 0) {
      give(*best.front(), 1, to, headroom);
      continue;
    }
    for (Share* share : best)
      give(*share, rounds, to, headroom);
  }
}

// Jobs that nobody could start come first, so nothing is started ahead beside one.
void want_ahead(std::vector<Share>& shares) {
  const bool jobs_wait =
      std::any_of(shares.begin(), shares.end(), [](const Share& share) { return share.grant.short_of > 0; });
  for (Share& share : shares) {
    const bool waits = jobs_wait || share.demand->blocked != LimitingFactor::none || share.needed > 0;
    const std::int64_t kept = left_of(natural(share.demand->ahead), share.grant.claim);
    share.needed = waits ? 0 : left_of(most_ahead(*share.demand), kept);
  }
}

}  // namespace

std::int64_t most_ahead(const PolicyDemand& demand) {
  const std::int64_t for_jobs = std::max(std::max(sum(demand.queued, demand.busy), natural(demand.min)),
                                         left_of(natural(demand.active), natural(demand.ahead)));
  return std::min(natural(demand.warm), left_of(natural(demand.max), for_jobs));
}

std::vector<Grant> allocate(const HostLimits& host, const std::vector<PolicyDemand>& demands) {
  std::map<std::string, std::int64_t> target_left;
  std::vector<Share> shares;
  shares.reserve(demands.size());
  for (const PolicyDemand& demand : demands) {
    const auto active = host.active_of_target.find(demand.target_key);
    const std::int64_t used = active == host.active_of_target.end() ? 0 : active->second;
    const std::int64_t left = host.target_cap > 0 ? left_of(host.target_cap, used) : kUnlimited;
    shares.push_back(share_of(demand, &target_left.try_emplace(demand.target_key, left).first->second));
  }

  std::int64_t headroom = left_of(host.capacity, host.active);
  hand_out(shares, &Grant::start, headroom);
  for (Share& share : shares) {
    share.grant.limited_by = limit_of(share, headroom);
    if (share.demand->blocked == LimitingFactor::none) share.grant.short_of = share.needed;
  }
  want_ahead(shares);
  hand_out(shares, &Grant::start_ahead, headroom);

  std::vector<Grant> grants;
  grants.reserve(shares.size());
  for (const Share& share : shares)
    grants.push_back(share.grant);
  return grants;
}

}  // namespace agent::domain
