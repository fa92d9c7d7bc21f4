#include "oci/provider.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "crash_point.hpp"
#include "oci/identity.hpp"
#include "oci/patience.hpp"
#include "oci/readiness.hpp"
#include "oci/sandbox.hpp"
#include "support/engine/tar.hpp"

namespace oci {
namespace {

using plugins::engine::Client;
using plugins::engine::ContainerStatus;
using plugins::engine::Listed;
using plugins::engine::Refused;
using rmgr::Error;
using rmgr::Millis;
using rmgr::Status;

// How long what was killed may take to be gone, and how long the host waits for a call that it cancelled.
constexpr Millis death_patience{10'000};
constexpr Millis undo_patience{10'000};
constexpr Millis undo_after_cancel{700};

// Logs of a listener and its worker; a job could write more.
constexpr std::size_t most_diagnostics = std::size_t{64} << 20;

constexpr int signal_base = 128;
constexpr int last_signal = 64;

bool is(const Error& error, unsigned http) {
  const auto* refusal = dynamic_cast<const Refused*>(&error);
  return refusal != nullptr && refusal->http() == http;
}

void check_package(const rmgr::Allocation& allocation) {
  const std::string listener = std::string(allocation.package) + "/bin/Runner.Listener";
  struct stat info {};
  if (::stat(listener.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
    throw Error(Status::invalid,
                "The runner package has no bin/Runner.Listener; it is not a package for this host.");
}

Error deferred(const Error& error) {
  if (error.status() == Status::cancelled || error.status() == Status::deadline) return error;
  return {Status::retry, error.what(), error.retry_after()};
}

rmgr::EnvironmentState state_of(const plugins::engine::Container& container) {
  using rmgr::EnvironmentStatus;
  rmgr::EnvironmentState state;
  switch (container.status) {
    case ContainerStatus::created: state.status = EnvironmentStatus::prepared; break;
    case ContainerStatus::running: state.status = EnvironmentStatus::running; break;
    case ContainerStatus::exited:
      state.status = EnvironmentStatus::exited;
      state.out_of_memory = container.out_of_memory;
      state.clean = container.exit_code == 0;
      // The init process and the shell report a signal so; no listener ends with such a code itself.
      const bool signalled =
          container.exit_code > signal_base && container.exit_code <= signal_base + last_signal;
      const bool sane = container.exit_code >= 0 && container.exit_code <= 255;
      state.exit_code = signalled || !sane ? -1 : static_cast<std::int32_t>(container.exit_code);
      break;
  }
  return state;
}

}  // namespace

Provider::Provider(rmgr::Host host, std::string_view config)
    : host_(host), settings_(parse_settings(config)), engine_(host, settings_), images_(host, settings_) {}

rmgr::Probe Provider::probe(const rmgr::Call& call, const rmgr::Profile& profile) {
  return probe_engine(call, engine_, settings_, profile);
}

std::optional<std::string> Provider::resolve(const rmgr::Call& call, const rmgr::Profile& profile) {
  if (profile.image.empty())
    throw Error(Status::invalid, "Runners in containers need an image; set profile.image in the policy.");
  return images_.resolve(call, engine_.connect(call), std::string(profile.image));
}

std::optional<Provider::Container> Provider::find(const rmgr::Call& call, const Connection& connection,
                                                  const rmgr::Allocation& allocation) const {
  std::string reference = name_of(allocation);
  bool by_id = false;
  if (!allocation.environment.empty()) {
    const auto environment = parse_environment(allocation.environment);
    if (!environment)
      throw Error(Status::invalid,
                  "The attempt's environment is not one of containers; it was made by another plugin.");
    if (environment->engine != connection.product) {
      throw Error(Status::invalid, "The attempt's container is in " + environment->engine +
                                       " and this instance uses " + connection.product +
                                       "; configure the other engine until its attempts have ended.");
    }
    by_id = !environment->network;
    if (by_id) reference = environment->id;
  }
  auto container = connection.client->inspect_container(call, reference);
  if (!container || bears(container->labels, allocation)) return container;
  if (by_id)
    throw Error(Status::exists,
                "The container of the attempt does not bear its identity; nothing was done to it.");
  return std::nullopt;  // a stranger of that name
}

std::optional<std::string> Provider::adopt(const rmgr::Call& call, const Connection& connection,
                                           const rmgr::Allocation& allocation) const {
  const std::string name = name_of(allocation);
  const auto container = connection.client->inspect_container(call, name);
  if (!container) return std::nullopt;
  if (!bears(container->labels, allocation)) {
    throw Error(
        Status::exists,
        "The name " + name + " is taken by a container that is not this agent's; remove or rename that one.");
  }
  if (container->status != ContainerStatus::created)
    throw Error(Status::busy, "The container " + name + " was started already; it is not prepared again.");
  return container->id;
}

std::string Provider::join_network(const rmgr::Call& call, const Connection& connection,
                                   const rmgr::Allocation& allocation) const {
  const std::string& wanted = settings_.of(allocation.policy).network;
  if (wanted != "own") return wanted;
  const std::string name = name_of(allocation);
  if (connection.client->list_networks(call, attempt_labels(allocation)).empty())
    connection.client->create_network(call, name, labels_of(allocation));
  RMGR_CRASH_POINT("oci.prepare.network_made");
  return name;
}

std::string Provider::create(const rmgr::Call& call, const Connection& connection,
                             const rmgr::Allocation& allocation, const std::string& network) const {
  const auto spec = sandbox_of(settings_.of(allocation.policy), allocation, network);
  try {
    return connection.client->create_container(call, name_of(allocation), spec);
  } catch (const Error& error) {
    if (!is(error, 409)) throw;
    // Ours after all if the answer to an earlier request was lost.
    if (auto own = adopt(call, connection, allocation)) return *own;
    throw Error(Status::retry, error.what());
  }
}

void Provider::copy_package(const rmgr::Call& call, const Connection& connection,
                            const rmgr::Allocation& allocation, const std::string& id) const {
  const ContainerSettings& settings = settings_.of(allocation.policy);
  if (settings.in_image) return;
  const auto image = connection.client->inspect_image(call, std::string(allocation.image));
  if (!image)
    throw Error(Status::retry, "The image vanished from the engine while a container was made of it.");
  const Account account = account_of(settings, *image);
  const plugins::engine::TarOptions options{settings.runner_path.substr(1), account.uid, account.gid};
  connection.client->put_archive(call, id, "/", [&](const plugins::engine::Emit& emit) {
    plugins::engine::write_tar(call, std::string(allocation.package), options, emit);
  });
}

std::optional<std::string> Provider::prepare(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  if (!is_pinned(allocation.image))
    throw Error(Status::invalid, "The attempt's image is not pinned by a digest; resolve it first.");
  const ContainerSettings& settings = settings_.of(allocation.policy);
  if (!settings.in_image) check_package(allocation);
  const Connection connection = engine_.connect(call);
  const auto image = images_.need(call, connection, std::string(allocation.image));
  if (!settings.in_image) account_of(settings, image);
  std::optional<std::string> id = adopt(call, connection, allocation);
  try {
    if (!id) id = create(call, connection, allocation, join_network(call, connection, allocation));
    RMGR_CRASH_POINT("oci.prepare.created");
    copy_package(call, connection, allocation, *id);
  } catch (...) {
    discard(call, connection, allocation, id);
    throw;
  }
  RMGR_CRASH_POINT("oci.prepare.filled");
  return text_of({connection.product, *id, false});
}

// What it cannot undo now a removal will.
void Provider::discard(const rmgr::Call& call, const Connection& connection,
                       const rmgr::Allocation& allocation, const std::optional<std::string>& container) {
  const bool over = call.requested() || call.remaining() <= Millis{0};
  const Patience patience(over ? undo_after_cancel : undo_patience);
  try {
    if (container) connection.client->remove_container(patience.call(), *container);
    for (const Listed& network :
         connection.client->list_networks(patience.call(), attempt_labels(allocation)))
      connection.client->remove_network(patience.call(), network.id);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch) the first failure is the one that is told
  }
}

void Provider::start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
                     rmgr::StartResult& result) {
  result.process_existed = false;
  const std::string_view secret = jit_config.reveal();
  if (secret.empty() || secret.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos)
    throw Error(Status::invalid, "The one-time configuration is not one line of text.");
  const Connection connection = engine_.connect(call);
  const auto container = find(call, connection, allocation);
  if (!container)
    throw Error(Status::not_found, "The container of the attempt is not there; it was removed.");
  if (container->status != ContainerStatus::created) {
    result.process_existed = true;
    throw Error(Status::busy, "The container of the attempt was started before; it is started once only.");
  }
  plugins::engine::Attached attached = connection.client->attach(call, container->id);
  result.process_existed = true;
  RMGR_CRASH_POINT("oci.start.attached");
  try {
    if (!connection.client->start_container(call, container->id))
      throw Error(Status::busy,
                  "The container of the attempt runs already; it was started by somebody else.");
  } catch (const Refused& refusal) {
    const auto now = find(call, connection, allocation);
    result.process_existed = now && now->status != ContainerStatus::created;
    throw;
  }
  RMGR_CRASH_POINT("oci.start.started");
  try {
    attached.write(secret, call);
    attached.write("\n", call);
    attached.finish_writing(call);
    RMGR_CRASH_POINT("oci.start.handed_over");
    if (!attached.await(taken_word, call)) {
      throw Error(
          Status::bad_response,
          "The container ended before it had read the one-time configuration; the image needs /bin/sh.");
    }
  } catch (...) {
    const Patience patience(call.requested() ? undo_after_cancel : undo_patience);
    try {
      end(patience.call(), connection, container->id, Millis{0});
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch) it has no pid here; the container stays to be
                              // looked at
    }
    throw;
  }
}

rmgr::EnvironmentState Provider::inspect(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  const auto container = find(call, engine_.connect(call), allocation);
  return container ? state_of(*container) : rmgr::EnvironmentState{};
}

std::vector<rmgr::Owned> Provider::list(const rmgr::Call& call, const plugins::engine::Labels& labels) {
  const Connection connection = engine_.connect(call);
  std::vector<rmgr::Owned> all;
  std::vector<std::string> names;
  for (const Listed& one : connection.client->list_containers(call, labels)) {
    all.push_back(owned(one.labels, {connection.product, one.id, false}));
    names.insert(names.end(), one.names.begin(), one.names.end());
  }
  // A network belongs to the container of its name, and stands for itself only where that is gone.
  for (const Listed& one : connection.client->list_networks(call, labels)) {
    const bool alone = std::find(names.begin(), names.end(), one.names.front()) == names.end();
    if (alone) all.push_back(owned(one.labels, {connection.product, one.id, true}));
  }
  return all;
}

std::vector<rmgr::Owned> Provider::recover(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  std::vector<rmgr::Owned> found = list(call, attempt_labels(allocation));
  // A network that outlived the container on record is a part of it, which a removal takes along.
  if (!allocation.environment.empty()) {
    std::erase_if(found, [](const rmgr::Owned& one) {
      const auto environment = parse_environment(one.environment);
      return environment && environment->network;
    });
  }
  return found;
}

std::vector<rmgr::Owned> Provider::enumerate_owned(const rmgr::Call& call, std::string_view host) {
  return list(call, host_label(host));
}

// Without holding any lock of the engine while it waits, as the engine's own stop may.
void Provider::end(const rmgr::Call& call, const Connection& connection, const std::string& id,
                   Millis grace) {
  Client& client = *connection.client;
  bool ended = false;
  if (grace > Millis{0}) {
    client.signal_container(call, id, "SIGTERM");
    ended = client.wait_container(call, id, grace);
  }
  if (!ended) {
    client.signal_container(call, id, "SIGKILL");
    client.wait_container(call, id, death_patience);
  }
  const auto now = client.inspect_container(call, id);
  if (now && now->status == ContainerStatus::running)
    throw Error(Status::busy, "The container of the attempt still runs although it was killed.");
}

void Provider::stop(const rmgr::Call& call, const rmgr::Allocation& allocation, Millis grace) {
  const Connection connection = engine_.connect(call);
  const auto container = find(call, connection, allocation);
  if (!container || container->status != ContainerStatus::running) return;
  end(call, connection, container->id, grace);
}

void Provider::remove(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  try {
    const Connection connection = engine_.connect(call);
    if (const auto container = find(call, connection, allocation)) {
      if (container->status == ContainerStatus::running) end(call, connection, container->id, Millis{0});
      connection.client->remove_container(call, container->id);
      RMGR_CRASH_POINT("oci.remove.container");
      if (find(call, connection, allocation))
        throw Error(Status::retry, "The container of the attempt is still there after its removal.");
    }
    for (const Listed& network : connection.client->list_networks(call, attempt_labels(allocation)))
      connection.client->remove_network(call, network.id);
    RMGR_CRASH_POINT("oci.remove.network");
  } catch (const Error& error) {
    throw deferred(error);
  }
}

bool Provider::owns(const rmgr::Call& call, const rmgr::Allocation& allocation,
                    std::string_view environment) {
  const auto parsed = parse_environment(environment);
  const Connection connection = engine_.connect(call);
  if (!parsed || parsed->engine != connection.product) return false;
  if (parsed->network) {
    const auto networks = connection.client->list_networks(call, attempt_labels(allocation));
    return std::any_of(networks.begin(), networks.end(), [&](const Listed& one) {
      return one.id == parsed->id && bears(one.labels, allocation);
    });
  }
  const auto container = connection.client->inspect_container(call, parsed->id);
  return container && container->id == parsed->id && bears(container->labels, allocation);
}

std::string Provider::evidence(const rmgr::Call& call, const Connection& connection,
                               const rmgr::Allocation& allocation, const std::string& id) const {
  bool worker = false;
  bool listener = false;
  plugins::engine::TarNames names([&](const std::string& name) {
    const std::string_view leaf = std::string_view(name).substr(name.rfind('/') + 1);
    const bool log = leaf.ends_with(".log");
    worker = worker || (log && leaf.starts_with("Worker_"));
    listener = listener || (log && leaf.starts_with("Runner_"));
    return !worker;
  });
  std::size_t total = 0;
  connection.client->get_archive(call, id, settings_.of(allocation.policy).runner_path + "/_diag",
                                 [&](std::string_view piece) {
                                   total += piece.size();
                                   return names.take(piece) && total <= most_diagnostics;
                                 });
  if (worker) return "job ran";
  return listener && names.complete() ? "no job" : "";
}

std::vector<std::string> Provider::diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation) {
  const Connection connection = engine_.connect(call);
  std::vector<std::string> lines = {"engine " + connection.product};
  const auto container = find(call, connection, allocation);
  if (!container) {
    lines.emplace_back("container missing");
    return lines;
  }
  switch (container->status) {
    case ContainerStatus::created: lines.emplace_back("container prepared"); break;
    case ContainerStatus::running: lines.emplace_back("container running"); break;
    case ContainerStatus::exited:
      lines.push_back("container exited " + std::to_string(container->exit_code));
      break;
  }
  if (container->out_of_memory) lines.emplace_back("out of memory");
  if (!container->error.empty()) lines.emplace_back("engine could not start it");
  if (container->status == ContainerStatus::created) return lines;
  if (std::string proof = evidence(call, connection, allocation, container->id); !proof.empty())
    lines.push_back(std::move(proof));
  return lines;
}

}  // namespace oci
