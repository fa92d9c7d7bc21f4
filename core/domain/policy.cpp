#include "domain/policy.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "domain/labels.hpp"

namespace agent::domain {
namespace {

constexpr std::size_t kMaximumName = 64;
constexpr std::size_t kMaximumRoot = 1024;
constexpr std::size_t kMaximumLabels = 100;
constexpr std::int64_t kMaximumRunners = 10'000;
constexpr Millis kMaximumTimeout{35LL * 24 * 3600 * 1000};  // no workflow run lasts longer
constexpr std::int64_t kMebibyte = 1024LL * 1024;
constexpr std::int64_t kCpuFloor = 100;
constexpr std::int64_t kMemoryFloor = 256 * kMebibyte;
constexpr std::int64_t kDiskFloor = 1024 * kMebibyte;

using Problems = std::vector<std::string>;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= kMaximumName && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

bool has_drive(std::string_view path) {
  return path.size() >= 3 && is_letter(path[0]) && path[1] == ':' && (path[2] == '\\' || path[2] == '/');
}

// The parts of an absolute path, drive included. Where there are drives, case does not tell names apart.
std::vector<std::string> parts_of(std::string_view path) {
  const bool drive = has_drive(path);
  std::vector<std::string> parts(1);
  for (const char c : drive ? fold(path) : std::string{path}) {
    if (c == '/' || (drive && c == '\\')) {
      if (!parts.back().empty()) parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

bool is_root(std::string_view path) {
  if (path.size() > kMaximumRoot || !(path.starts_with('/') || has_drive(path))) return false;
  if (std::any_of(path.begin(), path.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    return false;
  }
  const std::vector<std::string> parts = parts_of(path);
  return parts.size() > (has_drive(path) ? 1U : 0U) &&
         std::none_of(parts.begin(), parts.end(),
                      [](const auto& part) { return part == "." || part == ".."; });
}

bool is_inside(const Policy& inner, const Policy& outer) {
  const std::vector<std::string> in = parts_of(inner.root);
  const std::vector<std::string> out = parts_of(outer.root);
  return out.size() <= in.size() && std::equal(out.begin(), out.end(), in.begin());
}

void check_names(const Policy& policy, Problems& problems) {
  if (!is_name(policy.name.str())) {
    problems.emplace_back(
        "name: 1 to 64 letters, digits, '-', '_' or '.', beginning with a letter, a digit or '_'");
  }
  if (policy.target.key().empty()) problems.emplace_back("target: `owner/repository` or `owner` is needed");
  if (policy.gateway.empty()) problems.emplace_back("gateway: the name of a configured gateway is needed");
  if (policy.provider.empty()) problems.emplace_back("provider: the name of a configured provider is needed");
  if (policy.package_source.empty() && policy.provider_kind == ProviderKind::native) {
    problems.emplace_back("package_source: a native provider needs the name of a configured package source");
  }
  if (!is_root(policy.root)) {
    problems.emplace_back(
        "root: an absolute path of at most 1024 characters without '.' and '..' is needed, and not the top "
        "of "
        "a file system");
  }
}

void check_labels(const Policy& policy, Problems& problems) {
  if (policy.labels.empty() || policy.labels.size() > kMaximumLabels) {
    problems.emplace_back("labels: 1 to 100 are needed");
  }
  std::set<std::string> folded;
  for (std::size_t i = 0; i < policy.labels.size() && i < kMaximumLabels; ++i) {
    const std::string place = "labels: number " + std::to_string(i + 1);
    if (!valid_label(policy.labels[i])) {
      problems.push_back(
          place + " must have 1 to 256 printable characters, no comma, no `${{` and no space at its ends");
    } else if (!folded.insert(fold(policy.labels[i])).second) {
      problems.push_back(place + " is there twice; upper and lower case do not differ");
    }
  }
}

void check_counts(const Policy& policy, Problems& problems) {
  if (policy.runner_group_id < 1) problems.emplace_back("runner_group_id: 1 or more");
  if (policy.min < 0) problems.emplace_back("min: 0 or more");
  if (policy.max < 0 || policy.max > kMaximumRunners) problems.emplace_back("max: 0 to 10000");
  if (policy.min > policy.max) problems.emplace_back("min: must not be above max");
  if (policy.warm < 0 || policy.warm > policy.max) problems.emplace_back("warm: 0 to max");
}

void check_timeouts(const Timeouts& timeouts, Problems& problems) {
  const auto check = [&](std::string_view field, Millis value, bool zero) {
    if (value > kMaximumTimeout || value < Millis{0} || (value == Millis{0} && !zero)) {
      problems.push_back("timeouts." + std::string{field} +
                         (zero ? ": 0 to 35 days" : ": more than 0 and at most 35 days"));
    }
  };
  check("jit_handoff", timeouts.jit_handoff, false);
  check("startup", timeouts.startup, false);
  check("idle", timeouts.idle, false);
  check("stop_grace", timeouts.stop_grace, true);
  check("job", timeouts.job, true);
}

// A wish of zero is no wish; the floors are below what a runner can live in.
void check_profile(const Policy& policy, Problems& problems) {
  const bool isolated = policy.provider_kind == ProviderKind::isolated;
  const auto check = [&](std::string_view field, std::int64_t value, std::int64_t floor,
                         std::string_view words) {
    if (value < 0 || (isolated && value > 0 && value < floor)) {
      problems.push_back("profile." + std::string{field} + ": " + std::string{words});
    }
  };
  check("cpu_milli", policy.profile.cpu_milli, kCpuFloor, "at least 100, or 0 for no limit");
  check("memory_bytes", policy.profile.memory_bytes, kMemoryFloor, "at least 256 MiB, or 0 for no limit");
  check("disk_bytes", policy.profile.disk_bytes, kDiskFloor, "at least 1024 MiB, or 0 for no limit");
  check("pids", policy.profile.pids, 0, "1 or more, or 0 for no limit");
  if (isolated && policy.profile.image.empty()) {
    problems.emplace_back("profile.image: an isolated provider needs an image");
  }
}

void check_combination(const Policy& policy, Problems& problems) {
  const bool isolated = policy.provider_kind == ProviderKind::isolated;
  const bool persistent = policy.workspace == WorkspaceKind::persistent;
  const bool repository = policy.target.kind() == TargetKind::repository;
  if (policy.target.key().empty()) return;
  if (persistent && !repository) {
    problems.emplace_back("workspace: a persistent workspace serves one repository; the target is an owner");
  }
  if (persistent && isolated) {
    problems.emplace_back("workspace: a persistent workspace needs a native provider");
  }
  if (isolated && !repository) {
    problems.emplace_back("target: an isolated provider serves one repository; the target is an owner");
  }
}

std::string both(const Policy& a, const Policy& b) {
  return "policies `" + a.name.str() + "` and `" + b.name.str() + "`: ";
}

bool same_demand(const Policy& a, const Policy& b) {
  const auto set_of = [](const Policy& policy) {
    std::set<std::string> labels;
    for (const std::string& label : policy.labels)
      labels.insert(fold(label));
    return labels;
  };
  return std::tie(a.target, a.runner_group_id, a.priority) ==
             std::tie(b.target, b.runner_group_id, b.priority) &&
         set_of(a) == set_of(b);
}

void check_pair(const Policy& a, const Policy& b, Problems& problems) {
  if (a.name == b.name) problems.push_back("policies: the name `" + a.name.str() + "` is there twice");
  if (same_demand(a, b)) {
    problems.push_back(both(a, b) +
                       "equal target, labels, runner group and priority; give one of them another priority");
  }
  const bool a_keeps = a.workspace == WorkspaceKind::persistent;
  const bool b_keeps = b.workspace == WorkspaceKind::persistent;
  if ((a_keeps && is_inside(b, a)) || (b_keeps && is_inside(a, b))) {
    problems.push_back(both(a, b) +
                       "one root is, or lies in, the root of a persistent workspace; give each its own root");
  }
}

}  // namespace

std::vector<std::string> check_policy(const Policy& policy) {
  Problems problems;
  check_names(policy, problems);
  check_labels(policy, problems);
  check_counts(policy, problems);
  check_timeouts(policy.timeouts, problems);
  check_profile(policy, problems);
  check_combination(policy, problems);
  return problems;
}

std::vector<std::string> check_policies(const std::vector<Policy>& policies) {
  Problems problems;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      check_pair(policies[j], policies[i], problems);
  }
  return problems;
}

}  // namespace agent::domain
