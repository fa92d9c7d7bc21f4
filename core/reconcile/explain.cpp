// Why nothing starts, from the same factors that the allocator answered.
#include "domain/explain.hpp"

#include <algorithm>

#include "domain/state.hpp"
#include "reconcile/engine.hpp"

namespace agent::reconcile {

using domain::LimitingFactor;

namespace {

std::string counted(std::int64_t count, const char* one, const char* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

void add(Explanation& out, const domain::Words& words, const std::string& detail) {
  std::string factor(words.meaning);
  if (!detail.empty()) factor += " (" + detail + ")";
  out.factors.push_back(std::move(factor));
  if (!words.remedy.empty()) out.remedies.emplace_back(words.remedy);
}

}  // namespace

void Engine::explain_into(Explanation& out, const PolicyState& state) const {
  const domain::Policy& policy = state.policy;
  const Target& target = targets_.at(key_of(policy));
  std::int64_t live = 0, busy = 0;
  for (const auto& [id, entry] : live_) {
    if (entry.attempt.policy.name != policy.name || !domain::is_live(entry.attempt.state)) continue;
    ++live;
    if (entry.attempt.state == domain::State::busy) ++busy;
  }
  out.facts.push_back("Policy " + policy.name.str() + " serves " + policy.target.str() + " with " +
                      std::to_string(policy.min) + " to " + counted(policy.max, "runner", "runners") + ".");
  out.facts.push_back(
      (state.queued ? counted(*state.queued, "job is", "jobs are") + " queued for it at the last look"
                    : std::string("Its demand was not read yet")) +
      ", " + counted(live, "runner lives", "runners live") + ", " + std::to_string(busy) + " of them busy.");
  out.facts.push_back("The host runs " + std::to_string(active()) + " of " +
                      counted(options_.host_capacity, "runner", "runners") + ".");
  std::vector<LimitingFactor> factors = blocks_of(target, state);
  if (target.failures > 0) factors.push_back(state.limited_by);
  if (factors.empty()) factors.push_back(state.limited_by);
  out.limited_by = factors.front();
  for (const LimitingFactor factor : factors) {
    std::string detail;
    if (factor == LimitingFactor::held_after_refusal) {
      detail = state.held_reason + ", for " +
               std::to_string((domain::elapsed(world_.now(), *state.held_until).count() + 999) / 1000) +
               " s more";
    } else if (factor == state.blocked && !state.remedy.empty()) {
      detail = state.remedy;
    } else if (factor == LimitingFactor::no_free_slot && !state.refused_slots.empty()) {
      const auto& [slot, refusal] = *state.refused_slots.begin();
      detail = counted(static_cast<std::int64_t>(state.refused_slots.size()), "slot is", "slots are") +
               " refused, the first is " + domain::slot_directory_name(slot) + ": " +
               std::string(domain::to_string(refusal));
    } else if (factor == LimitingFactor::journal_unreadable || factor == LimitingFactor::disk_full) {
      detail = journal().message;
    }
    add(out, domain::explain(factor), detail);
  }
}

std::optional<Explanation> Engine::explain(const domain::PolicyName& policy) const {
  const auto found = policies_.find(policy);
  if (found == policies_.end()) return std::nullopt;
  Explanation out;
  explain_into(out, found->second);
  return out;
}

std::optional<Explanation> Engine::explain(domain::JobId job) const {
  for (const auto& [key, target] : targets_) {
    const auto seen = target.jobs.find(job);
    if (seen == target.jobs.end()) continue;
    Explanation out;
    if (seen->second.attempt) {
      out.facts.push_back("The job runs on attempt " + seen->second.attempt->str() + ".");
      return out;
    }
    out.facts.push_back("The job is queued at " + key.target.str() + ".");
    for (const auto& [name, missing] : seen->second.missing) {
      out.facts.push_back(
          missing == 0 ? "Policy " + name.str() + " offers its labels in another runner group."
                       : "Policy " + name.str() + " lacks " +
                             counted(static_cast<std::int64_t>(missing), "label", "labels") + " of it.");
    }
    if (seen->second.refusal) add(out, domain::explain(*seen->second.refusal), {});
    if (!seen->second.policy) return out;
    const auto policy = policies_.find(*seen->second.policy);
    if (policy == policies_.end()) {
      out.facts.push_back("Its policy was removed; the next look decides anew.");
    } else {
      explain_into(out, policy->second);
    }
    return out;
  }
  return std::nullopt;
}

std::vector<RootView> Engine::roots() const {
  std::vector<RootView> views;
  for (const auto& [name, state] : policies_) {
    const bool shared = state.policy.workspace == domain::WorkspaceKind::ephemeral;
    views.push_back({.policy = name, .root = state.policy.root, .shared = shared});
  }
  return views;
}

std::map<domain::AttemptId, domain::SlotRefusal> Engine::quarantined_slots() const {
  std::map<domain::AttemptId, domain::SlotRefusal> slots;
  for (const auto& [id, live] : live_) {
    if (live.slot) slots.emplace(id, *live.slot);
  }
  return slots;
}

std::vector<PolicyView> Engine::policies() const {
  std::vector<PolicyView> views;
  for (const auto& [name, state] : policies_) {
    PolicyView view;
    view.policy = state.policy;
    view.queued = state.queued.value_or(0);
    view.limited_by = state.limited_by;
    view.remedy = state.remedy;
    view.note = state.note;
    view.root_refusal = state.root_refusal;
    view.refused_slots = state.refused_slots;
    const auto target = targets_.find(key_of(state.policy));
    if (target != targets_.end()) {
      const LimitingFactor blocked = blocked_by(target->second, state);
      if (blocked != LimitingFactor::none) view.limited_by = blocked;
    }
    if (view.limited_by == LimitingFactor::held_after_refusal) view.remedy = state.held_reason;
    views.push_back(std::move(view));
  }
  for (const auto& [id, live] : live_) {
    if (!domain::is_live(live.attempt.state)) continue;
    const auto known = std::find_if(views.begin(), views.end(), [&live](const PolicyView& view) {
      return view.policy.name == live.attempt.policy.name;
    });
    const bool removed = known == views.end();
    PolicyView& view = removed ? views.emplace_back() : *known;
    if (removed) {
      view.policy = live.attempt.policy;
      view.configured = false;
      view.limited_by = LimitingFactor::draining;
    }
    ++view.active;
    if (live.attempt.ahead) ++view.waiting;
    if (live.attempt.state == domain::State::busy) ++view.busy;
  }
  return views;
}

}  // namespace agent::reconcile
