#include "oci/readiness.hpp"

#include "oci/sandbox.hpp"

namespace oci {
namespace {

using plugins::engine::Info;
using plugins::engine::NoConnection;
using rmgr::Error;
using rmgr::Probe;
using rmgr::Readiness;
using rmgr::Status;

Probe not_ready(Readiness readiness, const std::string& remedy) { return {readiness, remedy, "", false}; }

Probe unreached(const NoConnection& nobody) {
  switch (nobody.why()) {
    case NoConnection::Why::absent: return not_ready(Readiness::not_installed, nobody.what());
    case NoConnection::Why::forbidden: return not_ready(Readiness::permission_denied, nobody.what());
    case NoConnection::Why::silent: break;
  }
  return not_ready(Readiness::degraded, nobody.what());
}

Readiness readiness_of(Status status) {
  switch (status) {
    case Status::unsupported: return Readiness::unsupported;
    case Status::denied:
    case Status::unauthorized: return Readiness::permission_denied;
    default: return Readiness::degraded;
  }
}

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

// What an operator loosened, in one sentence.
std::string note_of(const Settings& settings) {
  std::string loosened;
  const auto add = [&](bool is, const std::string& what) {
    if (is) loosened += (loosened.empty() ? "" : ", ") + what;
  };
  add(!settings.add_capabilities.empty(), "more capabilities than package managers need");
  add(settings.privilege_escalation, "set-user-ID programs work");
  add(!settings.init, "no init process reaps what jobs leave");
  add(settings.network != "own" && settings.network != "none",
      "containers share the network " + settings.network);
  return loosened.empty() ? "" : "loosened by configuration: " + loosened;
}

}  // namespace

Probe probe_engine(const rmgr::Call& call, Engine& engine, const Settings& settings,
                   const rmgr::Profile& profile) {
  const std::string image(profile.image);
  if (!image.empty() && !plugins::engine::sound_reference(image))
    return not_ready(Readiness::image_unavailable,
                     "The policy's image is no name of an image; correct profile.image.");
  try {
    const Connection connection = engine.connect(call);
    connection.client->ping(call);  // what is known of it may be from before it ended
    const Info info = connection.client->info(call);
    if (info.os != "linux") {
      return not_ready(
          Readiness::unsupported,
          "The container engine runs Windows containers; switch it to Linux ones or use another provider.");
    }
    if (auto lacking = lacks_limit(info, profile)) return *lacking;
    const bool must_be_here = settings.images.pull == plugins::engine::Pull::never && !image.empty();
    if (must_be_here && !connection.client->inspect_image(call, image)) {
      return not_ready(Readiness::image_unavailable,
                       "The image " + image +
                           " is not in the engine; pull it there, or let it be pulled by "
                           "pull: missing.");
    }
    return {Readiness::ready, "", note_of(settings), settings.in_image};
  } catch (const NoConnection& nobody) {
    return unreached(nobody);
  } catch (const Error& error) {
    if (error.status() == Status::cancelled) throw;
    return not_ready(readiness_of(error.status()), error.what());
  }
}

}  // namespace oci
