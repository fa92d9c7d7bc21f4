// Which policy serves which job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/policy.hpp"

namespace agent::domain {

// A job as the gateway reported it.
struct Job {
  JobId id;
  std::int64_t run_id = 0;
  std::string repository;  // owner/repo
  bool queued = false;
  std::vector<std::string> labels;
  std::int64_t runner_group_id = 0;  // 0 if not known
  std::string runner_name;           // empty: none; never matches a runner
  bool operator==(const Job&) const = default;
};

// Why a queued job is nobody's demand. `no_policy` is a job for somebody else.
enum class JobRefusal {
  no_labels,
  unresolved_expression,
  group_without_labels,
  invalid_label,
  no_policy,
  ambiguous_policy
};
std::string_view to_string(JobRefusal refusal);

// The labels that a runner of this machine carries besides those the operator wrote: self-hosted, os and
// architecture.
std::vector<std::string> implicit_labels(std::string_view os, std::string_view architecture);
std::string fold(std::string_view text);  // ASCII case folding, as GitHub compares labels

// What a runner can be registered with: 1 to 256 printable characters, no comma, no expression, no space at
// either end.
bool valid_label(std::string_view label);

// How many different labels of the job the policy does not offer.
std::size_t labels_missing(const Policy& policy, const Job& job);

// Target, labels (a subset, case-folded) and runner group, where the job's are known. An empty label list
// matches nothing.
bool matches(const Policy& policy, const Job& job);

struct Assignment {
  JobId job;
  std::optional<PolicyName> policy;
  std::optional<JobRefusal> refusal;  // set exactly when there is no policy
};

// Each queued job once (merged by id), in the order of its first appearance: fewest labels wins, then the
// higher priority, then a repository's policy before its organization's; an exact tie is ambiguous. A paused
// policy keeps its jobs; a draining one owns a job only if no other policy matches it, so that a renamed
// policy never ties with its own remains.
std::vector<Assignment> assign(const std::vector<Job>& jobs, const std::vector<Policy>& policies);

}  // namespace agent::domain
