#include "sim/ledger.hpp"

#include <algorithm>

#include "sim/laws.hpp"

namespace simulation {

using domain::Attempt;
using domain::AttemptId;
using domain::FailureReason;

namespace {

constexpr std::int64_t kShortestHold = 30'000;

bool open(const Attempt& row) {
  return row.state != domain::State::cleaned || row.deregistration_owed || row.replacement_wanted;
}

template <class T>
bool rewritten(const std::optional<T>& before, const std::optional<T>& now) {
  return before && before != now;
}

// A launch that was withdrawn because of another one's refusal asked GitHub for nothing.
bool refused_for_good(const Attempt& row) {
  return row.outcome && row.outcome->reason == FailureReason::jit_refused && row.jit_requested_at;
}

}  // namespace

void Ledger::compare(agent::journal::Journal& journal, const AttemptId& id, const Attempt& row) {
  auto found = journal.find(id);
  if (!found) {
    nature_.violation("a row could not be read: " + found.error().message);
  } else if (!*found) {
    nature_.violation("the journal forgot an attempt that it had");
  } else if (**found != row) {
    nature_.violation("the journal forgot a change that it had");
  }
}

// A refusal concerned the definition that was refused.
void Ledger::configure(Configuration configuration) {
  const auto& known = configured_.policies;
  for (const domain::Policy& policy : configuration.policies) {
    if (std::find(known.begin(), known.end(), policy) == known.end()) held_until_ms_.erase(policy.name);
  }
  configured_ = std::move(configuration);
}

void Ledger::reopened(agent::journal::Journal& journal) {
  for (const auto& [id, candidates] : uncertain_) {
    auto found = journal.find(id);
    if (!found) continue;
    const auto known = rows_.find(id);
    const bool as_written = known == rows_.end() ? !*found : *found && **found == known->second;
    if (as_written) continue;
    if (std::find(candidates.begin(), candidates.end(), *found) == candidates.end() || !*found) {
      nature_.violation("the journal holds what was never written");
      continue;
    }
    rows_[id] = **found;
  }
  uncertain_.clear();
  refused_.clear();
  open_.clear();
  unreconciled_.clear();
  queued_.clear();
  held_until_ms_.clear();
  for (const auto& [id, row] : rows_) {
    if (!simulation::open(row)) continue;
    open_.insert(id);
    compare(journal, id, row);
    if (lives(row.state)) unreconciled_[reconcile::key_of(row.policy)].insert(id);
  }
}

void Ledger::compare_all(agent::journal::Journal& journal) {
  for (const auto& [id, row] : rows_)
    compare(journal, id, row);
}

void Ledger::refused(const agent::journal::Batch& batch) {
  for (const Attempt& attempt : batch.attempts) {
    uncertain_[attempt.id].emplace_back(attempt);
    rests(attempt.id);
  }
}

void Ledger::written(const agent::journal::Batch& batch, std::int64_t now_ms) {
  uncertain_.clear();
  std::vector<AttemptId> made;
  std::vector<domain::PolicyName> came_through;
  for (const Attempt& attempt : batch.attempts) {
    refused_.erase(attempt.id);
    const auto known = rows_.find(attempt.id);
    if (known == rows_.end()) {
      made.push_back(attempt.id);
    } else {
      check_change(known->second, attempt);
      const bool started =
          attempt.state == domain::State::starting && known->second.state != domain::State::starting;
      if (started) came_through.push_back(attempt.policy.name);
    }
    if (refused_for_good(attempt) && known != rows_.end() && !known->second.outcome)
      held_until_ms_[attempt.policy.name] = now_ms + kShortestHold;
    if (!lives(attempt.state)) unreconciled_[reconcile::key_of(attempt.policy)].erase(attempt.id);
    rows_[attempt.id] = attempt;
    if (simulation::open(attempt)) {
      open_.insert(attempt.id);
    } else {
      open_.erase(attempt.id);
    }
  }
  // A launch that came through shows that what was refused is mended.
  for (const domain::PolicyName& policy : came_through)
    held_until_ms_.erase(policy);
  for (const AttemptId& id : made)
    check_new(rows_.at(id), now_ms);
}

void Ledger::check_change(const Attempt& before, const Attempt& now) {
  const auto says = [this](const char* what) { nature_.violation(what); };
  if (before.outcome && before.outcome != now.outcome) says("an outcome changed after the conclusion");
  if (!lives(before.state) && lives(now.state)) says("a concluded attempt came back to life");
  if (before.state == domain::State::cleaned && now.state != domain::State::cleaned)
    says("a cleaned attempt came back");
  if (before.generation != now.generation || before.runtime != now.runtime || before.policy != now.policy ||
      before.slot != now.slot || rewritten(before.package, now.package) ||
      rewritten(before.environment, now.environment) || rewritten(before.runner, now.runner) ||
      rewritten(before.process, now.process))
    says("a fact that is written once was written again");
  if (now.next_seq < before.next_seq) says("the numbers of effects went back");
  if (before.clean_exit && !now.clean_exit) says("a clean exit was forgotten");
  if (!before.pending && now.pending && now.pending->seq < before.next_seq)
    says("the number of an effect was used twice");
  if (!before.replacement_wanted && now.replacement_wanted && before.outcome)
    says("a replacement was asked for twice");
  if (now.ahead && (now.runner || now.jit_requested_at)) says("what waits for a job was registered");
  check_end(before, now);
}

void Ledger::check_end(const Attempt& before, const Attempt& now) {
  if (lives(before.state) && !lives(now.state) && nature_.runs(now.id))
    nature_.violation("an attempt was concluded while its runner runs");
  if (before.state == domain::State::cleaned || now.state != domain::State::cleaned) return;
  if (nature_.runners.contains(now.id))
    nature_.violation("an attempt is clean and its runner is still there");
  if (nature_.directories.contains(now.runtime))
    nature_.violation("an attempt is clean and its directory is still there");
}

// The allocator's promises, held against what is durable.
void Ledger::check_new(const Attempt& attempt, std::int64_t now_ms) {
  ++created;
  const auto& policies = configured_.policies;
  const auto policy = std::find_if(policies.begin(), policies.end(),
                                   [&](const auto& known) { return known.name == attempt.policy.name; });
  if (policy == policies.end() || policy->state != domain::PolicyState::active) {
    nature_.violation("a runner was launched for a policy that admits none");
    return;
  }
  if (host_load() > configured_.options.host_capacity) nature_.violation("the host's capacity was exceeded");
  const std::int64_t live = live_of(attempt.policy.name);
  if (live > policy->max) nature_.violation("the policy's maximum was exceeded");
  const std::int64_t cap = configured_.options.target_cap;
  if (cap > 0 && target_load(attempt.policy.target) > cap) nature_.violation("the target's cap was exceeded");
  const auto& waiting = unreconciled_[reconcile::key_of(attempt.policy)];
  if (!waiting.empty()) nature_.violation("a runner was launched before what was live at the start was seen");
  const auto held = held_until_ms_.find(attempt.policy.name);
  if (held != held_until_ms_.end() && now_ms < held->second)
    nature_.violation("a runner was launched although a refusal holds its policy");
  std::int64_t busy = 0, ahead = 0;
  for (const Attempt* row : open()) {
    if (row->policy.name != attempt.policy.name || !lives(row->state)) continue;
    // A claim that the journal will not have leaves the row as it was.
    if (row->ahead && !refused_.contains(row->id)) ++ahead;
    const auto registration = nature_.registrations.find(domain::runner_name(row->id));
    const bool has_job = registration != nature_.registrations.end() && registration->second.job.has_value();
    // What runs a job by now, or may have run one when the demand was read.
    const auto runner = nature_.runners.find(row->id);
    const bool ran = runner != nature_.runners.end() && runner->second.ran_job;
    if (has_job || ran || row->state == domain::State::busy) ++busy;
  }
  if (ahead > policy->warm) nature_.violation("more runners were prepared ahead than the policy wants");
  if (!attempt.ahead && live - ahead > std::max(policy->min, queued_[attempt.policy.name] + busy))
    nature_.violation("more runners were launched than anything asks for");
}

void Ledger::reconciled(const reconcile::TargetKey& target, const std::set<AttemptId>& attempts) {
  for (const AttemptId& id : attempts)
    unreconciled_[target].erase(id);
}

void Ledger::told(const reconcile::TargetKey& target, const std::vector<domain::Job>& jobs) {
  std::vector<domain::Policy> theirs;
  for (const domain::Policy& policy : configured_.policies) {
    if (!reconcile::serves(policy, target)) continue;
    theirs.push_back(policy);
    queued_[policy.name] = 0;
  }
  for (const domain::Assignment& assignment : domain::assign(jobs, theirs)) {
    if (assignment.policy) ++queued_[*assignment.policy];
  }
}

std::vector<const Attempt*> Ledger::open() const {
  std::vector<const Attempt*> list;
  for (const AttemptId& id : open_)
    list.push_back(&rows_.at(id));
  return list;
}

std::int64_t Ledger::live_of(const domain::PolicyName& policy) const {
  const auto list = open();
  return std::count_if(list.begin(), list.end(), [&policy](const Attempt* row) {
    return lives(row->state) && row->policy.name == policy;
  });
}

std::int64_t Ledger::host_load() const {
  const auto list = open();
  return std::count_if(list.begin(), list.end(), [](const Attempt* row) { return costs_host(*row); });
}

std::int64_t Ledger::target_load(const domain::Target& target) const {
  const auto list = open();
  return std::count_if(list.begin(), list.end(), [&target](const Attempt* row) {
    return lives(row->state) && row->policy.target == target;
  });
}

void Ledger::forget_settled() {
  std::erase_if(rows_, [](const auto& entry) { return !simulation::open(entry.second); });
}

}  // namespace simulation
