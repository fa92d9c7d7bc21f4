#include "oci/engine.hpp"

#include <unistd.h>

#include <cstdlib>

namespace oci {
namespace {

using plugins::engine::Address;
using plugins::engine::NoConnection;
using rmgr::Error;
using rmgr::Status;

constexpr const char* choice_key = "engine";

Address socket_at(const std::string& path) {
  Address address;
  address.path = path;
  return address;
}

}  // namespace

std::vector<Engine::Candidate> Engine::candidates() const {
  const bool podman = settings_.engine != EngineChoice::docker;
  const bool docker = settings_.engine != EngineChoice::podman;
  if (settings_.host) {
    const std::string product = podman && docker ? "" : podman ? "podman" : "docker";
    return {{product, *settings_.host}};
  }
  std::vector<Candidate> all;
  if (podman) {
    all.push_back({"podman", socket_at("/run/podman/podman.sock")});
    // A rootless engine belongs to the account that this agent runs as.
    const char* const own = std::getenv("XDG_RUNTIME_DIR");
    if (::geteuid() != 0 && own != nullptr && *own == '/')
      all.insert(all.begin(), {"podman", socket_at(std::string(own) + "/podman/podman.sock")});
  }
  if (docker) all.push_back({"docker", socket_at("/var/run/docker.sock")});
  return all;
}

Connection Engine::choose(const rmgr::Call& call) {
  const auto all = candidates();
  const bool open_question = all.size() > 1;
  const auto kept = open_question ? host_.kv().get(choice_key) : std::nullopt;
  std::optional<NoConnection> first;
  for (const Candidate& one : all) {
    if (kept && *kept != one.product + " " + one.address.text()) continue;
    auto client = plugins::engine::client_at(host_, one.address, settings_.tls);
    try {
      const std::string product = client->ping(call).product;
      if (!one.product.empty() && product != one.product) {
        throw Error(Status::unsupported, "At " + one.address.text() + " answers " + product + " and not " +
                                             one.product + "; correct engine or host.");
      }
      if (open_question && !kept) host_.kv().put(choice_key, one.product + " " + one.address.text());
      chosen_ = Candidate{product, one.address};
      client_ = client;
      return {client, product};
    } catch (const NoConnection& nobody) {
      // One that is there and refuses says more than one that is not.
      if (!first || first->why() == NoConnection::Why::absent) first = nobody;
    }
  }
  if (first) throw NoConnection(*first);
  throw Error(Status::invalid,
              "The engine that this instance used, " + plugins::engine::presentable(kept.value_or("")) +
                  ", is not among those that it may use now; configure that one by engine and host.");
}

Connection Engine::connect(const rmgr::Call& call) {
  const std::lock_guard lock(mutex_);
  if (!chosen_) return choose(call);
  // A key is read anew for each use.
  if (settings_.tls)
    return {plugins::engine::client_at(host_, chosen_->address, settings_.tls), chosen_->product};
  return {client_, chosen_->product};
}

}  // namespace oci
