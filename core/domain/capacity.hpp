// How many runners to start, and what limits that number.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "domain/policy.hpp"

namespace agent::domain {

// One policy as the allocator sees it in this pass.
struct PolicyDemand {
  PolicyName policy;
  std::string target_key;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t priority = 0;
  std::int64_t queued = 0;                 // matching queued jobs
  std::int64_t busy = 0;                   // own attempts that run a job
  std::int64_t active = 0;                 // own live attempts, those launched in this pass included
  std::int64_t ahead = 0;                  // those of them that were granted ahead of a job and not claimed
  std::int64_t warm = 0;                   // how many are wanted ahead, within max
  std::optional<std::int64_t> free_slots;  // how many more it can lease; nothing: it needs none
  std::int64_t replacements = 0;  // intents to consume; they never raise the number above what demand allows
  LimitingFactor blocked =
      LimitingFactor::none;  // a reason to start nothing: paused, held, provider_not_ready …
};

struct HostLimits {
  std::int64_t capacity = 0;
  std::int64_t active = 0;      // everything that counts against the host, over all policies
  std::int64_t target_cap = 0;  // most live attempts of one target; 0: none
  std::map<std::string, std::int64_t> active_of_target;
};

struct Grant {
  PolicyName policy;
  std::int64_t wanted = 0;
  std::int64_t desired = 0;
  std::int64_t start = 0;
  std::int64_t claim = 0;        // of those ahead, for jobs
  std::int64_t start_ahead = 0;  // beside `start`
  std::int64_t short_of = 0;     // what the host, or its target's cap, had no room for
  LimitingFactor limited_by = LimitingFactor::none;
};

// How many of a policy's attempts ahead may go on waiting: none in the way of its maximum.
std::int64_t most_ahead(const PolicyDemand& demand);

// The factor is the reason why not one more is started: what blocks the policy, else the target's cap or the
// host if either kept something back, else that no slot is free, else the policy's maximum, its minimum, or
// that there is no more demand.
//
// wanted = queued + busy; desired = clamp(wanted, min, max). What is ahead is claimed first, which costs
// nothing; start is what headroom allows beyond that, one slot at a time: by priority, then fewest active,
// then name. What is left when no job wants it is started ahead, in the same order, within max. Counts
// saturate; nothing is ever negative. One Grant for each demand, in the order given.
std::vector<Grant> allocate(const HostLimits& host, const std::vector<PolicyDemand>& demands);

}  // namespace agent::domain
