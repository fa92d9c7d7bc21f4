#include "hyperv/readiness.hpp"

#include "hyperv/sandbox.hpp"
#include "support/engine/readiness.hpp"

namespace hyperv {
namespace {

using plugins::engine::not_ready;
using rmgr::Probe;
using rmgr::Readiness;

std::optional<Probe> lacks_limit(const plugins::engine::Info& info, const rmgr::Profile& profile) {
  if (profile.pids > 0) return not_ready(Readiness::unsupported, std::string(no_process_limit));
  // Of the storage of Windows engines this one makes a disk of the size that it is asked for.
  if (profile.disk_bytes > 0 && info.driver != "windowsfilter") {
    return not_ready(Readiness::disk_quota_unavailable,
                     "The container engine's storage cannot limit a container's disk; use the windowsfilter "
                     "driver, or remove profile.disk.");
  }
  return std::nullopt;
}

std::optional<Probe> lacks_bootstrap(const Settings& settings) {
  try {
    bootstrap_of(settings);
    return std::nullopt;
  } catch (const rmgr::Error& absent) {
    return not_ready(Readiness::not_installed, absent.what());
  }
}

}  // namespace

Probe probe_engine(const rmgr::Call& call, Engine& engine, Machine& machine, const Settings& settings,
                   const rmgr::Profile& profile) {
  if (engine.local()) {
    const Features features = machine.features();
    if (const auto missing = missing_feature(features))
      return not_ready(features.windows ? Readiness::not_installed : Readiness::unsupported, *missing);
  }
  if (auto misnamed = plugins::engine::misnamed_image(profile.image)) return *misnamed;
  return plugins::engine::probe_of([&]() -> Probe {
    const auto connection = engine.connect(call);
    const std::string architecture = connection.client->version(call).architecture;
    if (architecture != "amd64") {
      return not_ready(Readiness::unsupported,
                       "The container engine runs windows/" + plugins::engine::presentable(architecture) +
                           " and runners here need windows/amd64; use an engine on such a machine.");
    }
    if (auto lacking = lacks_limit(connection.client->info(call), profile)) return *lacking;
    if (auto lacking = lacks_bootstrap(settings)) return *lacking;
    if (auto absent = plugins::engine::absent_image(call, *connection.client, settings.images,
                                                    std::string(profile.image)))
      return *absent;
    std::string note;
    if (settings.network != "nat" && settings.network != "none")
      note = "containers share the network " + settings.network;
    return {Readiness::ready, "", std::move(note), settings.in_image};
  });
}

}  // namespace hyperv
