#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include "domain/labels.hpp"
#include "unit/properties/check.hpp"

namespace agent::domain {

void showValue(const Job& job, std::ostream& out) {
  out << "job " << job.id.get() << (job.queued ? " queued" : "") << " of " << job.repository << " group "
      << job.runner_group_id << " labels";
  for (const std::string& label : job.labels)
    out << " " << label;
}

void showValue(const Policy& policy, std::ostream& out) {
  out << policy.name.str() << " for " << policy.target.str() << " group " << policy.runner_group_id
      << " priority " << policy.priority << " " << to_string(policy.state) << " labels";
  for (const std::string& label : policy.labels)
    out << " " << label;
}

}  // namespace agent::domain

namespace properties {
namespace {

using namespace agent::domain;
using Labels = std::vector<std::string>;

rc::Gen<std::string> labels() {
  return rc::gen::element<std::string>("a", "A", "b", "B", "Linux", "linux", "LINUX", "self-hosted",
                                       "Self-Hosted");
}

// The letters of each label in the other case, where `seed` says so.
Labels recased(Labels all, std::uint64_t seed) {
  for (std::string& label : all) {
    for (char& letter : label) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
      if (is_letter && (seed >> 63U) != 0) letter = static_cast<char>(letter ^ 0x20);
    }
  }
  return all;
}

std::set<std::string> lower(const Labels& all) {
  std::set<std::string> made;
  for (std::string label : all) {
    for (char& letter : label) {
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + 0x20);
    }
    made.insert(label);
  }
  return made;
}

rc::Gen<Job> jobs() {
  return rc::gen::exec([] {
    Job job;
    job.id = JobId(*rc::gen::inRange<std::int64_t>(1, 8));
    job.queued = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
    job.repository =
        *rc::gen::element<std::string>("acme/widgets", "Acme/Widgets", "acme/other", "else/where", "");
    job.runner_group_id = *rc::gen::inRange<std::int64_t>(0, 3);
    const int count = *rc::gen::weightedElement<int>({{1, 0}, {4, 1}, {4, 2}, {1, 3}});
    for (int index = 0; index < count; ++index)
      job.labels.push_back(*labels());
    if (*rc::gen::inRange(0, 20) == 0)
      job.labels.push_back(*rc::gen::element<std::string>("${{ matrix.os }}", "a,b", " a", ""));
    return job;
  });
}

rc::Gen<std::vector<Policy>> policies() {
  return rc::gen::exec([] {
    std::vector<Policy> made;
    const int count = *rc::gen::inRange(0, 6);
    for (int number = 0; number < count; ++number) {
      Policy policy;
      policy.name = PolicyName("p" + std::to_string(number));
      policy.target = *Target::parse(*rc::gen::element<std::string>("acme/widgets", "ACME", "acme/other"));
      policy.runner_group_id = *rc::gen::inRange<std::int64_t>(1, 3);
      policy.priority = *rc::gen::inRange<std::int64_t>(0, 3);
      policy.state = *rc::gen::weightedElement<PolicyState>(
          {{4, PolicyState::active}, {1, PolicyState::paused}, {2, PolicyState::draining}});
      policy.labels = *rc::gen::unique<Labels>(labels());
      made.push_back(std::move(policy));
    }
    return made;
  });
}

bool expected_match(const Policy& policy, const Job& job) {
  const std::string target = *lower({policy.target.str()}).begin();
  const std::string repository = *lower({job.repository}).begin();
  const bool serves =
      repository.empty() || repository == target || repository.substr(0, repository.find('/')) == target;
  const bool group = job.runner_group_id == 0 || job.runner_group_id == policy.runner_group_id;
  const auto offered = lower(policy.labels), asked = lower(job.labels);
  return serves && group && !asked.empty() &&
         std::includes(offered.begin(), offered.end(), asked.begin(), asked.end());
}

RC_GTEST_PROP(Labels, folding_is_idempotent_and_changes_letters_of_ascii_only, (const std::string& text)) {
  const std::string folded = fold(text);
  RC_ASSERT(fold(folded) == folded);
  RC_ASSERT(folded.size() == text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool upper = text[at] >= 'A' && text[at] <= 'Z';
    RC_ASSERT(folded[at] == (upper ? static_cast<char>(text[at] + 0x20) : text[at]));
  }
}

RC_GTEST_PROP(Labels, a_policy_matches_what_asks_for_a_subset_of_its_labels, ()) {
  const Job job = *jobs();
  for (const Policy& policy : *policies()) {
    RC_ASSERT(matches(policy, job) == expected_match(policy, job));
    RC_ASSERT(matches(policy, job) == false || labels_missing(policy, job) == 0);
  }
}

RC_GTEST_PROP(Labels, case_order_and_repetition_mean_nothing, (std::uint64_t seed)) {
  const Job job = *jobs();
  Job other = job;
  other.labels = shuffled(recased(job.labels, seed), seed);
  if (!other.labels.empty()) other.labels.push_back(other.labels.front());
  for (const Policy& policy : *policies()) {
    Policy same = policy;
    same.labels = shuffled(recased(policy.labels, ~seed), seed);
    RC_ASSERT(matches(policy, job) == matches(same, other));
    RC_ASSERT(labels_missing(policy, job) == labels_missing(same, other));
  }
}

RC_GTEST_PROP(Labels, offering_more_keeps_a_match_and_asking_for_more_makes_none, ()) {
  const Job job = *jobs();
  const std::string more = *labels();
  for (const Policy& policy : *policies()) {
    Policy offers = policy;
    offers.labels.push_back(more);
    if (matches(policy, job)) RC_ASSERT(matches(offers, job));
    if (job.labels.empty()) continue;
    Job asks = job;
    asks.labels.push_back(more);
    if (!matches(policy, job)) RC_ASSERT(!matches(policy, asks));
  }
}

// Smaller is better; equal is a tie.
auto rank(const Policy& policy) {
  return std::tuple(policy.state == PolicyState::draining, policy.labels.size(), -policy.priority,
                    policy.target.kind() != TargetKind::repository);
}

RC_GTEST_PROP(JobAssignment, each_queued_job_goes_to_its_one_best_policy_or_to_none, ()) {
  const auto all = *rc::gen::container<std::vector<Job>>(jobs());
  const auto owners = *policies();
  const auto answers = assign(all, owners);
  std::vector<const Job*> first;
  std::set<JobId> seen;
  for (const Job& job : all) {
    if (job.queued && seen.insert(job.id).second) first.push_back(&job);
  }
  RC_ASSERT(answers.size() == first.size());
  for (std::size_t index = 0; index < answers.size(); ++index) {
    const Assignment& answer = answers[index];
    const Job& job = *first[index];
    RC_ASSERT(answer.job == job.id);
    RC_ASSERT(answer.policy.has_value() != answer.refusal.has_value());
    if (!std::all_of(job.labels.begin(), job.labels.end(), valid_label) || job.labels.empty()) {
      RC_ASSERT(answer.refusal.has_value());
      RC_ASSERT(*answer.refusal != JobRefusal::no_policy && *answer.refusal != JobRefusal::ambiguous_policy);
      continue;
    }
    std::vector<const Policy*> best;
    for (const Policy& policy : owners) {
      if (!expected_match(policy, job)) continue;
      if (!best.empty() && rank(policy) < rank(*best.front())) best.clear();
      if (best.empty() || rank(policy) == rank(*best.front())) best.push_back(&policy);
    }
    if (best.size() == 1) {
      RC_ASSERT(answer.policy == best.front()->name);
    } else {
      RC_ASSERT(answer.refusal == (best.empty() ? JobRefusal::no_policy : JobRefusal::ambiguous_policy));
    }
  }
}

RC_GTEST_PROP(JobAssignment, does_not_depend_on_the_order_of_policies_or_jobs, (std::uint64_t seed)) {
  auto all = *rc::gen::container<std::vector<Job>>(jobs());
  std::int64_t next = 1;
  for (Job& job : all)
    job.id = JobId(next++);
  const auto owners = *policies();
  std::map<JobId, std::pair<std::optional<PolicyName>, std::optional<JobRefusal>>> expected;
  for (const Assignment& answer : assign(all, owners))
    expected[answer.job] = {answer.policy, answer.refusal};
  const auto again = assign(shuffled(all, seed), shuffled(owners, ~seed));
  RC_ASSERT(again.size() == expected.size());
  for (const Assignment& answer : again)
    RC_ASSERT(expected.at(answer.job) == std::pair(answer.policy, answer.refusal));
}

}  // namespace
}  // namespace properties
