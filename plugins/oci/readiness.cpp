#include "oci/readiness.hpp"

#include "oci/sandbox.hpp"
#include "support/engine/readiness.hpp"

namespace oci {
namespace {

using plugins::engine::Info;
using plugins::engine::not_ready;
using rmgr::Probe;
using rmgr::Readiness;

std::optional<Probe> lacks_limit(const Info& info, const rmgr::Profile& profile) {
  const char* what = nullptr;
  if (profile.memory_bytes > 0 && !info.memory_limit) what = "memory";
  if (profile.cpu_milli > 0 && !info.cpu_limit) what = "CPU";
  if (profile.pids > 0 && !info.pids_limit) what = "process";
  if (what != nullptr) {
    return not_ready(Readiness::unsupported,
                     std::string("The container engine cannot enforce the policy's ") + what +
                         " limit; give it the cgroup controller or remove the limit.");
  }
  if (profile.disk_bytes > 0 && !limits_disk(info)) {
    return not_ready(
        Readiness::disk_quota_unavailable,
        "The container engine's storage cannot limit a container's disk; use overlay on XFS with project "
        "quotas, btrfs or ZFS, or remove profile.disk.");
  }
  return std::nullopt;
}

}  // namespace

Probe probe_engine(const rmgr::Call& call, Engine& engine, const Settings& settings,
                   const rmgr::Profile& profile) {
  if (auto misnamed = plugins::engine::misnamed_image(profile.image)) return *misnamed;
  return plugins::engine::probe_of([&]() -> Probe {
    const Connection connection = engine.connect(call);
    connection.client->ping(call);  // what is known of it may be from before it ended
    const Info info = connection.client->info(call);
    if (info.os != "linux") {
      return not_ready(
          Readiness::unsupported,
          "The container engine runs Windows containers; switch it to Linux ones or use another provider.");
    }
    if (auto lacking = lacks_limit(info, profile)) return *lacking;
    if (auto absent = plugins::engine::absent_image(call, *connection.client, settings.images,
                                                    std::string(profile.image)))
      return *absent;
    const ContainerSettings& own = settings.of(profile.policy);
    return {Readiness::ready, "", loosened(own), own.in_image};
  });
}

}  // namespace oci
