#include "domain/labels.hpp"

#include <algorithm>
#include <set>

namespace agent::domain {
namespace {

constexpr std::size_t kMaximumLabel = 256;

bool unprintable(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_expression(std::string_view label) { return label.find("${{") != std::string_view::npos; }

bool serves(const Target& target, const Job& job) {
  if (job.repository.empty()) return true;
  const std::string repository = fold(job.repository);
  if (target.kind() == TargetKind::repository) return repository == target.key();
  return repository.substr(0, repository.find('/')) == target.key();
}

// What makes a job unservable whatever the policies are.
std::optional<JobRefusal> refusal_of(const Job& job) {
  if (job.labels.empty()) {
    return job.runner_group_id != 0 ? JobRefusal::group_without_labels : JobRefusal::no_labels;
  }
  if (std::any_of(job.labels.begin(), job.labels.end(), is_expression)) {
    return JobRefusal::unresolved_expression;
  }
  if (!std::all_of(job.labels.begin(), job.labels.end(), valid_label)) return JobRefusal::invalid_label;
  return std::nullopt;
}

// Positive if a is the better owner, negative if b is, zero for an exact tie.
int preference(const Policy& a, const Policy& b) {
  const bool a_drains = a.state == PolicyState::draining;
  const bool b_drains = b.state == PolicyState::draining;
  if (a_drains != b_drains) return a_drains ? -1 : 1;
  if (a.labels.size() != b.labels.size()) return a.labels.size() < b.labels.size() ? 1 : -1;
  if (a.priority != b.priority) return a.priority > b.priority ? 1 : -1;
  const bool a_repository = a.target.kind() == TargetKind::repository;
  const bool b_repository = b.target.kind() == TargetKind::repository;
  return a_repository == b_repository ? 0 : a_repository ? 1 : -1;
}

Assignment assign_one(const Job& job, const std::vector<Policy>& policies) {
  Assignment answer{job.id, std::nullopt, refusal_of(job)};
  if (answer.refusal) return answer;
  const Policy* owner = nullptr;
  bool tied = false;
  for (const Policy& policy : policies) {
    if (!matches(policy, job)) continue;
    const int better = owner == nullptr ? 1 : preference(policy, *owner);
    if (better > 0) owner = &policy;
    if (better >= 0) tied = better == 0;
  }
  if (owner == nullptr) {
    answer.refusal = JobRefusal::no_policy;
  } else if (tied) {
    answer.refusal = JobRefusal::ambiguous_policy;
  } else {
    answer.policy = owner->name;
  }
  return answer;
}

std::string_view os_label(std::string_view os) {
  const std::string folded = fold(os);
  if (folded == "linux") return "Linux";
  if (folded == "osx" || folded == "macos" || folded == "darwin") return "macOS";
  if (folded == "win" || folded == "windows") return "Windows";
  return os;
}

std::string_view architecture_label(std::string_view architecture) {
  const std::string folded = fold(architecture);
  if (folded == "x64" || folded == "x86_64" || folded == "amd64") return "X64";
  if (folded == "arm64" || folded == "aarch64") return "ARM64";
  if (folded == "arm" || folded == "armv7l") return "ARM";
  return architecture;
}

}  // namespace

std::string_view to_string(JobRefusal refusal) {
  switch (refusal) {
    case JobRefusal::no_labels: return "no_labels";
    case JobRefusal::unresolved_expression: return "unresolved_expression";
    case JobRefusal::group_without_labels: return "group_without_labels";
    case JobRefusal::invalid_label: return "invalid_label";
    case JobRefusal::no_policy: return "no_policy";
    case JobRefusal::ambiguous_policy: return "ambiguous_policy";
  }
  return "no_policy";
}

std::vector<std::string> implicit_labels(std::string_view os, std::string_view architecture) {
  return {"self-hosted", std::string{os_label(os)}, std::string{architecture_label(architecture)}};
}

std::string fold(std::string_view text) {
  std::string folded{text};
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return folded;
}

bool valid_label(std::string_view label) {
  if (label.empty() || label.size() > kMaximumLabel || is_expression(label)) return false;
  if (label.front() == ' ' || label.back() == ' ' || label.find(',') != std::string_view::npos) return false;
  return std::none_of(label.begin(), label.end(), unprintable);
}

std::size_t labels_missing(const Policy& policy, const Job& job) {
  std::set<std::string> offered, missing;
  for (const std::string& label : policy.labels)
    offered.insert(fold(label));
  for (const std::string& label : job.labels) {
    if (const std::string folded = fold(label); !offered.contains(folded)) missing.insert(folded);
  }
  return missing.size();
}

bool matches(const Policy& policy, const Job& job) {
  if (job.labels.empty() || !serves(policy.target, job)) return false;
  if (job.runner_group_id != 0 && job.runner_group_id != policy.runner_group_id) return false;
  return labels_missing(policy, job) == 0;
}

std::vector<Assignment> assign(const std::vector<Job>& jobs, const std::vector<Policy>& policies) {
  std::vector<Assignment> answers;
  std::set<JobId> seen;
  for (const Job& job : jobs) {
    if (job.queued && seen.insert(job.id).second) answers.push_back(assign_one(job, policies));
  }
  return answers;
}

}  // namespace agent::domain
