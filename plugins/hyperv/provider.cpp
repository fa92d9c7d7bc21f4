#include "hyperv/provider.hpp"

#include "crash_point.hpp"
#include "hyperv/preflight.hpp"
#include "hyperv/readiness.hpp"
#include "hyperv/sandbox.hpp"

namespace hyperv {

using rmgr::Error;
using rmgr::Status;

Provider::Provider(rmgr::Host host, std::string_view config) : Provider(host, config, look_at_machine) {}

Provider::Provider(rmgr::Host host, std::string_view config, Machine::Look look)
    : settings_(parse_settings(config)),
      machine_(std::move(look)),
      engine_(host, settings_, machine_),
      images_(host, settings_.images) {}

rmgr::Probe Provider::probe(const rmgr::Call& call, const rmgr::Profile& profile) {
  return probe_engine(call, engine_, machine_, settings_, profile);
}

std::optional<std::string> Provider::resolve(const rmgr::Call& call, const rmgr::Profile& profile) {
  if (profile.image.empty()) {
    throw Error(Status::invalid,
                "Runners in Windows containers need an image; set profile.image in the policy.");
  }
  return images_.resolve(call, engine_.connect(call), std::string(profile.image));
}

// An engine copies nothing into a running container with hypervisor isolation, so this is done before.
void Provider::fill(const rmgr::Call& call, const Sandboxes& sandboxes, const rmgr::Allocation& allocation,
                    const std::string& id) const {
  const auto contents = contents_of(settings_);
  const std::string package = settings_.in_image ? "" : std::string(allocation.package);
  const std::string disk = settings_.in_image ? R"(C:\)" : settings_.runner_path.substr(0, 3);
  sandboxes.client().put_archive(call, id, disk, [&](const plugins::engine::Emit& emit) {
    plugins::engine::write_tar(call, package, contents, emit);
  });
}

std::optional<std::string> Provider::prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  if (!plugins::engine::is_pinned(allocation.image))
    throw Error(Status::invalid, "The attempt's image is not pinned by a digest; resolve it first.");
  if (!settings_.in_image) plugins::engine::check_package(allocation.package, "bin/Runner.Listener.exe");
  bootstrap_of(settings_);
  const auto connection = engine_.connect(call);
  images_.need(call, connection, std::string(allocation.image));
  const Sandboxes sandboxes(connection);
  remove_trial(call, sandboxes, allocation);
  // The runner's own container is made after a preflight only, so one that is there needs no other.
  std::optional<std::string> id = sandboxes.adopt(call, allocation);
  if (!id) {
    preflight(call, sandboxes, settings_, allocation,
              [&](const std::string& trial) { fill(call, sandboxes, allocation, trial); });
  }
  try {
    if (!id) id = sandboxes.create(call, allocation, runner_of(settings_, allocation));
    RMGR_CRASH_POINT("hyperv.prepare.created");
    fill(call, sandboxes, allocation, *id);
  } catch (...) {
    sandboxes.discard(call, allocation, id);
    throw;
  }
  RMGR_CRASH_POINT("hyperv.prepare.filled");
  return plugins::engine::text_of({sandboxes.product(), *id, false});
}

void Provider::start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
                     rmgr::StartResult& result) {
  result.process_existed = false;
  sandboxes(call).start(call, allocation, jit_config, "the image must run programs of windows/amd64", result);
}

rmgr::EnvironmentState Provider::inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  const Sandboxes all = sandboxes(call);
  const auto container = all.find(call, allocation);
  if (!container) return {};
  // A preflight, in whatever state, is a part of a preparation.
  if (is_trial(container->labels)) return {.status = rmgr::EnvironmentStatus::prepared};
  return plugins::engine::state_of(*container);
}

std::vector<std::string> Provider::diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  return sandboxes(call).diagnostics(call, allocation, settings_.runner_path + R"(\_diag)", false);
}

}  // namespace hyperv
