#include "native/containment.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "native/shared_directories.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t least_cpu_milli = 10;
constexpr std::int64_t least_memory = std::int64_t{16} << 20U;

// Where links lead; the path itself if nothing is there.
std::string real(const std::string& path) {
  std::error_code missing;
  const fs::path found = fs::canonical(path, missing);
  return missing ? path : found.string();
}

bool holds(const std::string& directory, const std::string& path) {
  return path == directory || path.starts_with(directory + '/');
}

// The machine's own directories for everybody's files, each once, as far as they exist.
std::vector<rmgr::PrivateDirectory> everybodys(const std::string& runtime) {
  std::vector<rmgr::PrivateDirectory> all;
  const rmgr::PrivateDirectory known[] = {{"/tmp", runtime + '/' + tmp_directory},
                                          {"/var/tmp", runtime + '/' + var_tmp_directory},
                                          {"/dev/shm", ""}};
  for (const rmgr::PrivateDirectory& each : known) {
    const std::string target = real(each.target);
    std::error_code ignored;
    const bool again =
        std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.target == target; });
    if (!again && fs::is_directory(target, ignored)) all.push_back({target, each.backing});
  }
  return all;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i)
    all += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return all;
}

}  // namespace

std::string Containment::refusal(const rmgr::Profile& profile) const {
  std::vector<std::string> missing;
  if (profile.cpu_milli != 0 && !able_.limit_cpu) missing.emplace_back("cpu");
  if (profile.memory_bytes != 0 && !able_.limit_memory) missing.emplace_back("memory");
  if (profile.pids != 0 && !able_.limit_pids) missing.emplace_back("pids");
  if (!missing.empty()) {
    return "This agent has no cgroup controller for " + joined(missing) +
           ", so that limit cannot be enforced; run it as root or delegate the controllers to it, or remove "
           "the "
           "limit from the policy's profile.";
  }
  // Less than the kernel takes, or than any runner can start with.
  if ((profile.cpu_milli != 0 && profile.cpu_milli < least_cpu_milli) ||
      (profile.memory_bytes != 0 && profile.memory_bytes < least_memory)) {
    return "A native runner needs at least 0.01 cores and 16 MiB of memory; raise the limit in the policy's "
           "profile.";
  }
  if (shared_ && !settings_.protected_paths.empty()) {
    return "protected_paths keep nothing from jobs that run as the agent's own account; configure run_as or "
           "remove "
           "protected_paths.";
  }
  if (!able_.arrange_directories &&
      (settings_.private_tmp.value_or(false) || !settings_.protected_paths.empty())) {
    return "private_tmp and protected_paths need a mount namespace, which this agent may not make; run it as "
           "root "
           "with CAP_SYS_ADMIN or remove them.";
  }
  return {};
}

std::vector<std::string> Containment::gaps(const std::string& own_account) const {
  std::vector<std::string> all;
  if (shared_) {
    all.push_back("jobs can read this agent's credentials and each other's secrets, because all run as " +
                  own_account);
  }
  if (shared_) {
    all.emplace_back(
        able_.group ? "a job can lift its limits and leave its cgroup, and outlive its end if it kills its "
                      "supervisor, because all of that is of its own account"
                    : "a process that detaches itself and kills its supervisor outlives its job, because "
                      "there is no cgroup");
  } else if (!able_.group) {
    all.emplace_back(
        "no cgroup holds the processes of a job together, so what detaches itself is ended only with its "
        "account");
  }
  if (!able_.limit_cpu || !able_.limit_memory || !able_.limit_pids) {
    std::vector<std::string> missing;
    if (!able_.limit_cpu) missing.emplace_back("CPU");
    if (!able_.limit_memory) missing.emplace_back("memory");
    if (!able_.limit_pids) missing.emplace_back("processes");
    all.push_back("nothing can limit what a job uses of " + joined(missing));
  }
  if (!private_tmp()) {
    all.emplace_back("/tmp, /var/tmp and /dev/shm are shared by all jobs and the machine");
  }
  return all;
}

bool Containment::private_tmp() const {
  return settings_.private_tmp.value_or(!shared_ && able_.arrange_directories);
}

void Containment::check_places(const std::string& runtime, const std::string& package) const {
  for (const std::string& path : settings_.protected_paths) {
    if (real(path) != path) {
      throw rmgr::Error(
          rmgr::Status::invalid,
          "protected_paths: " + path + " leads through a symbolic link; name the directory itself.");
    }
    std::error_code unknown;
    if (fs::exists(path, unknown) && !fs::is_directory(path, unknown)) {
      throw rmgr::Error(rmgr::Status::invalid,
                        "protected_paths: " + path + " is not a directory; name the one that it is in.");
    }
    for (const std::string& needed : {real(runtime), real(package), std::string("/dev"), std::string("/proc"),
                                      real("/usr"), real("/lib64")}) {
      if (!holds(path, needed)) continue;
      throw rmgr::Error(rmgr::Status::invalid, "protected_paths: " + path + " holds " + needed +
                                                   ", which the job needs; remove it.");
    }
  }
  if (!private_tmp()) return;
  for (const rmgr::PrivateDirectory& each : everybodys(runtime)) {
    for (const std::string& needed : {real(runtime), real(package)}) {
      if (!holds(each.target, needed)) continue;
      throw rmgr::Error(rmgr::Status::invalid, "private_tmp: " + needed + " lies in " + each.target +
                                                   ", which each job has for itself; use a root directory "
                                                   "elsewhere or set private_tmp to false.");
    }
  }
}

void Containment::apply(const rmgr::Profile& profile, const std::string& runtime,
                        rmgr::ProcessSpec& spec) const {
  spec.cpu_milli = profile.cpu_milli;
  spec.memory_bytes = profile.memory_bytes;
  spec.pids = profile.pids;
  spec.nice = settings_.nice;
  spec.no_new_privileges = settings_.no_new_privileges;
  for (const auto& [name, value] : settings_.rlimits)
    spec.resource_limits.push_back({name, value});
  spec.hidden_directories = settings_.protected_paths;
  // What cron and at start for a job would run outside of everything that holds it.
  if (!shared_ && able_.arrange_directories) {
    const auto spools = schedule_spools();
    spec.hidden_directories.insert(spec.hidden_directories.end(), spools.begin(), spools.end());
  }
  if (private_tmp()) spec.private_directories = everybodys(runtime);
}

}  // namespace native
