#include "oci/provider.hpp"

#include "crash_point.hpp"
#include "oci/readiness.hpp"
#include "oci/sandbox.hpp"
#include "support/engine/tar.hpp"

namespace oci {
namespace {

using plugins::engine::attempt_labels;
using plugins::engine::labels_of;
using plugins::engine::name_of;
using rmgr::Error;
using rmgr::Status;

}  // namespace

Provider::Provider(rmgr::Host host, std::string_view config)
    : settings_(parse_settings(config)), engine_(host, settings_), images_(host, settings_.images) {}

rmgr::Probe Provider::probe(const rmgr::Call& call, const rmgr::Profile& profile) {
  return probe_engine(call, engine_, settings_, profile);
}

std::optional<std::string> Provider::resolve(const rmgr::Call& call, const rmgr::Profile& profile) {
  if (profile.image.empty())
    throw Error(Status::invalid, "Runners in containers need an image; set profile.image in the policy.");
  return images_.resolve(call, engine_.connect(call), std::string(profile.image));
}

std::string Provider::join_network(const rmgr::Call& call, const Sandboxes& sandboxes,
                                   const rmgr::Allocation& allocation) const {
  const std::string& wanted = settings_.of(allocation.policy).network;
  if (wanted != "own") return wanted;
  const std::string name = name_of(allocation);
  if (sandboxes.client().list_networks(call, attempt_labels(allocation)).empty())
    sandboxes.client().create_network(call, name, labels_of(allocation));
  RMGR_CRASH_POINT("oci.prepare.network_made");
  return name;
}

void Provider::copy_package(const rmgr::Call& call, const Sandboxes& sandboxes,
                            const rmgr::Allocation& allocation, const std::string& id) const {
  const ContainerSettings& settings = settings_.of(allocation.policy);
  if (settings.in_image) return;
  const auto image = sandboxes.client().inspect_image(call, std::string(allocation.image));
  if (!image)
    throw Error(Status::retry, "The image vanished from the engine while a container was made of it.");
  const Account account = account_of(settings, *image);
  const plugins::engine::TarOptions options{settings.runner_path.substr(1), account.uid, account.gid};
  sandboxes.client().put_archive(call, id, "/", [&](const plugins::engine::Emit& emit) {
    plugins::engine::write_tar(call, std::string(allocation.package), options, emit);
  });
}

std::optional<std::string> Provider::prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  if (!plugins::engine::is_pinned(allocation.image))
    throw Error(Status::invalid, "The attempt's image is not pinned by a digest; resolve it first.");
  const ContainerSettings& settings = settings_.of(allocation.policy);
  if (!settings.in_image) plugins::engine::check_package(allocation.package, "bin/Runner.Listener");
  const Connection connection = engine_.connect(call);
  const auto image = images_.need(call, connection, std::string(allocation.image));
  if (!settings.in_image) account_of(settings, image);
  const Sandboxes sandboxes(connection);
  std::optional<std::string> id = sandboxes.adopt(call, allocation);
  try {
    if (!id) {
      const std::string network = join_network(call, sandboxes, allocation);
      id = sandboxes.create(call, allocation, sandbox_of(settings, allocation, network));
    }
    RMGR_CRASH_POINT("oci.prepare.created");
    copy_package(call, sandboxes, allocation, *id);
  } catch (...) {
    sandboxes.discard(call, allocation, id);
    throw;
  }
  RMGR_CRASH_POINT("oci.prepare.filled");
  return plugins::engine::text_of({connection.product, *id, false});
}

void Provider::start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
                     rmgr::StartResult& result) {
  result.process_existed = false;
  sandboxes(call).start(call, allocation, jit_config, "the image needs /bin/sh", result, &waiting_);
}

void Provider::warm(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  if (!settings_.of(allocation.policy).in_image) {
    throw Error(Status::unsupported,
                "A container can wait for its job only if the runner package is in the image; set "
                "runner_path.");
  }
  sandboxes(call).warm(call, allocation, waiting_);
}

rmgr::EnvironmentState Provider::inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  return sandboxes(call).inspect(call, allocation, &waiting_);
}

void Provider::remove(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  // Let go when the container is gone: it would begin to leave by itself in the middle of its removal.
  const auto waited = waiting_.take(allocation);
  ContainerProvider::remove(call, allocation);
}

std::vector<std::string> Provider::diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  return sandboxes(call).diagnostics(call, allocation, settings_.of(allocation.policy).runner_path + "/_diag",
                                     true);
}

}  // namespace oci
