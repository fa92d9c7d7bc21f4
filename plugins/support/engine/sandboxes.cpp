#include "support/engine/sandboxes.hpp"

#include <algorithm>
#include <filesystem>

#include "crash_point.hpp"
#include "support/engine/patience.hpp"
#include "support/engine/tar.hpp"

namespace plugins::engine {
namespace {

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

}  // namespace

void check_package(std::string_view package, const std::string& listener) {
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(std::string(package) + "/" + listener, unreadable)) {
    throw Error(Status::invalid,
                "The runner package has no " + listener + "; it is not a package for this provider.");
  }
}

Error deferred(const Error& error) {
  if (error.status() == Status::cancelled || error.status() == Status::deadline) return error;
  return {Status::retry, error.what(), error.retry_after()};
}

rmgr::EnvironmentState state_of(const Container& container) {
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

std::optional<Container> Sandboxes::find(const rmgr::Call& call, const rmgr::Allocation& allocation) const {
  std::string reference = name_of(allocation);
  bool by_id = false;
  if (!allocation.environment.empty()) {
    const auto environment = parse_environment(allocation.environment);
    if (!environment)
      throw Error(Status::invalid,
                  "The attempt's environment is not one of containers; it was made by another plugin.");
    if (environment->engine != product()) {
      throw Error(Status::invalid, "The attempt's container is in " + environment->engine +
                                       " and this instance uses " + product() +
                                       "; configure the other engine until its attempts have ended.");
    }
    by_id = !environment->network;
    if (by_id) reference = environment->id;
  }
  auto container = client().inspect_container(call, reference);
  if (!container || bears(container->labels, allocation)) return container;
  if (by_id)
    throw Error(Status::exists,
                "The container of the attempt does not bear its identity; nothing was done to it.");
  return std::nullopt;  // a stranger of that name
}

std::optional<std::string> Sandboxes::adopt(const rmgr::Call& call,
                                            const rmgr::Allocation& allocation) const {
  const std::string name = name_of(allocation);
  const auto container = client().inspect_container(call, name);
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

std::string Sandboxes::create(const rmgr::Call& call, const rmgr::Allocation& allocation,
                              const ContainerSpec& spec) const {
  try {
    return client().create_container(call, name_of(allocation), spec);
  } catch (const Error& error) {
    if (!is(error, 409)) throw;
    if (auto own = adopt(call, allocation)) return *own;
    throw Error(Status::retry, error.what());
  }
}

void Sandboxes::discard(const rmgr::Call& call, const rmgr::Allocation& allocation,
                        const std::optional<std::string>& container) const {
  const bool over = call.requested() || call.remaining() <= Millis{0};
  const Patience patience(over ? undo_after_cancel : undo_patience);
  try {
    if (container) client().remove_container(patience.call(), *container);
    for (const Listed& network : client().list_networks(patience.call(), attempt_labels(allocation)))
      client().remove_network(patience.call(), network.id);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch) the first failure is the one that is told
  }
}

Attached Sandboxes::launch(const rmgr::Call& call, const rmgr::Allocation& allocation,
                           bool& process_existed) const {
  process_existed = false;
  const auto container = find(call, allocation);
  if (!container)
    throw Error(Status::not_found, "The container of the attempt is not there; it was removed.");
  if (container->status != ContainerStatus::created) {
    process_existed = true;
    throw Error(Status::busy, "The container of the attempt was started before; it is started once only.");
  }
  Attached attached = client().attach(call, container->id);
  process_existed = true;
  RMGR_CRASH_POINT("engine.start.attached");
  try {
    if (!client().start_container(call, container->id))
      throw Error(Status::busy,
                  "The container of the attempt runs already; it was started by somebody else.");
  } catch (const Refused& refusal) {
    const auto now = find(call, allocation);
    process_existed = now && now->status != ContainerStatus::created;
    throw;
  }
  RMGR_CRASH_POINT("engine.start.started");
  return attached;
}

void Sandboxes::start(const rmgr::Call& call, const rmgr::Allocation& allocation, rmgr::SecretView jit_config,
                      const std::string& needed, rmgr::StartResult& result, Waiting* waiting) const {
  result.process_existed = false;
  const std::string_view secret = jit_config.reveal();
  if (secret.empty() || secret.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos)
    throw Error(Status::invalid, "The one-time configuration is not one line of text.");
  std::optional<Attached> attached;
  if (waiting != nullptr) attached = waiting->take(allocation);
  result.process_existed = attached.has_value();
  if (!attached) attached = launch(call, allocation, result.process_existed);
  hand_over(call, allocation, *attached, secret, needed);
}

void Sandboxes::warm(const rmgr::Call& call, const rmgr::Allocation& allocation, Waiting& waiting) const {
  if (waiting.has(allocation)) return;
  bool process_existed = false;
  waiting.keep(allocation, launch(call, allocation, process_existed));
}

void Sandboxes::hand_over(const rmgr::Call& call, const rmgr::Allocation& allocation, Attached& attached,
                          std::string_view secret, const std::string& needed) const {
  try {
    attached.write(secret, call);
    attached.write("\n", call);
    attached.finish_writing(call);
    RMGR_CRASH_POINT("engine.start.handed_over");
    if (!attached.await(taken_word, call)) {
      throw Error(Status::bad_response,
                  "The container ended before it had read the one-time configuration; " + needed + ".");
    }
  } catch (...) {
    end_quietly(call, allocation);
    throw;
  }
}

void Sandboxes::end_quietly(const rmgr::Call& call, const rmgr::Allocation& allocation) const {
  const Patience patience(call.requested() ? undo_after_cancel : undo_patience);
  try {
    if (const auto container = find(patience.call(), allocation))
      end(patience.call(), container->id, Millis{0});
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch) it has no pid here; the container stays to be
                            // looked at
  }
}

rmgr::EnvironmentState Sandboxes::inspect(const rmgr::Call& call, const rmgr::Allocation& allocation,
                                          const Waiting* waiting) const {
  // Asked first: what is taken out meanwhile may have become a runner.
  const bool waits = waiting != nullptr && waiting->has(allocation);
  const auto container = find(call, allocation);
  if (!container) return {};
  rmgr::EnvironmentState state = state_of(*container);
  if (waits && state.status == rmgr::EnvironmentStatus::running && waiting->has(allocation))
    state.status = rmgr::EnvironmentStatus::prepared;
  return state;
}

std::vector<rmgr::Owned> Sandboxes::list(const rmgr::Call& call, const Labels& labels) const {
  std::vector<rmgr::Owned> all;
  std::vector<std::string> names;
  for (const Listed& one : client().list_containers(call, labels)) {
    all.push_back(owned(one.labels, {product(), one.id, false}));
    names.insert(names.end(), one.names.begin(), one.names.end());
  }
  // A network belongs to the container of its name, and stands for itself only where that is gone.
  for (const Listed& one : client().list_networks(call, labels)) {
    const bool alone = std::find(names.begin(), names.end(), one.names.front()) == names.end();
    if (alone) all.push_back(owned(one.labels, {product(), one.id, true}));
  }
  return all;
}

std::vector<rmgr::Owned> Sandboxes::recover(const rmgr::Call& call,
                                            const rmgr::Allocation& allocation) const {
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

// Without holding any lock of the engine while it waits, as the engine's own stop may.
void Sandboxes::end(const rmgr::Call& call, const std::string& id, Millis grace) const {
  bool ended = false;
  if (grace > Millis{0}) {
    client().signal_container(call, id, "SIGTERM");
    ended = client().wait_container(call, id, grace);
  }
  if (!ended) {
    client().signal_container(call, id, "SIGKILL");
    client().wait_container(call, id, death_patience);
  }
  const auto now = client().inspect_container(call, id);
  if (now && now->status == ContainerStatus::running)
    throw Error(Status::busy, "The container of the attempt still runs although it was killed.");
}

void Sandboxes::stop(const rmgr::Call& call, const rmgr::Allocation& allocation, Millis grace) const {
  const auto container = find(call, allocation);
  if (!container || container->status != ContainerStatus::running) return;
  end(call, container->id, grace);
}

void Sandboxes::remove(const rmgr::Call& call, const rmgr::Allocation& allocation) const {
  if (const auto container = find(call, allocation)) {
    if (container->status == ContainerStatus::running) end(call, container->id, Millis{0});
    client().remove_container(call, container->id);
    RMGR_CRASH_POINT("engine.remove.container");
    if (find(call, allocation))
      throw Error(Status::retry, "The container of the attempt is still there after its removal.");
  }
  for (const Listed& network : client().list_networks(call, attempt_labels(allocation)))
    client().remove_network(call, network.id);
  RMGR_CRASH_POINT("engine.remove.network");
}

bool Sandboxes::owns(const rmgr::Call& call, const rmgr::Allocation& allocation,
                     std::string_view environment) const {
  const auto parsed = parse_environment(environment);
  if (!parsed || parsed->engine != product()) return false;
  if (parsed->network) {
    const auto networks = client().list_networks(call, attempt_labels(allocation));
    return std::any_of(networks.begin(), networks.end(), [&](const Listed& one) {
      return one.id == parsed->id && bears(one.labels, allocation);
    });
  }
  const auto container = client().inspect_container(call, parsed->id);
  return container && container->id == parsed->id && bears(container->labels, allocation);
}

std::string Sandboxes::evidence(const rmgr::Call& call, const std::string& id,
                                const std::string& path) const {
  bool worker = false;
  bool listener = false;
  TarNames names([&](const std::string& name) {
    const std::string_view leaf = std::string_view(name).substr(name.rfind('/') + 1);
    const bool log = leaf.ends_with(".log");
    worker = worker || (log && leaf.starts_with("Worker_"));
    listener = listener || (log && leaf.starts_with("Runner_"));
    return !worker;
  });
  std::size_t total = 0;
  client().get_archive(call, id, path, [&](std::string_view piece) {
    total += piece.size();
    return names.take(piece) && total <= most_diagnostics;
  });
  if (worker) return "job ran";
  return listener && names.complete() ? "no job" : "";
}

std::vector<std::string> Sandboxes::diagnostics(const rmgr::Call& call, const rmgr::Allocation& allocation,
                                                const std::string& path, bool while_running) const {
  std::vector<std::string> lines = {"engine " + product()};
  const auto container = find(call, allocation);
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
  const bool readable = container->status == ContainerStatus::exited ||
                        (container->status == ContainerStatus::running && while_running);
  if (!readable) return lines;
  if (std::string proof = evidence(call, container->id, path); !proof.empty())
    lines.push_back(std::move(proof));
  return lines;
}

}  // namespace plugins::engine
