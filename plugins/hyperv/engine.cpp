#include "hyperv/engine.hpp"

namespace hyperv {
namespace {

using plugins::engine::Address;
using rmgr::Error;
using rmgr::Status;

constexpr const char* usual_pipe = "//./pipe/docker_engine";

}  // namespace

bool Engine::local() const { return !settings_.host || settings_.host->kind == Address::Kind::named_pipe; }

std::shared_ptr<plugins::engine::Client> Engine::client() {
  Address address;
  address.kind = Address::Kind::named_pipe;
  address.path = usual_pipe;
  if (settings_.host) address = *settings_.host;
  // A key is read anew for each use.
  if (settings_.tls) return plugins::engine::client_at(host_, address, settings_.tls);
  const std::lock_guard lock(mutex_);
  if (!client_) client_ = plugins::engine::client_at(host_, address, std::nullopt);
  return client_;
}

plugins::engine::Connection Engine::connect(const rmgr::Call& call) {
  if (local()) {
    const Features features = machine_.features();
    if (!features.windows) throw Error(Status::unsupported, missing_feature(features).value_or(""));
  }
  plugins::engine::Connection connection{client(), "hyperv"};
  std::string os = connection.client->ping(call).os;
  if (os.empty()) os = connection.client->version(call).os;
  if (os != "windows") {
    throw Error(Status::unsupported,
                "The container engine runs Linux containers; switch it to Windows containers.");
  }
  return connection;
}

}  // namespace hyperv
