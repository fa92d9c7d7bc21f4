#include "plugin/instance.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr std::size_t most_retired = 256;

}  // namespace

Instance::Instance(std::shared_ptr<Library> library, std::shared_ptr<Ports> ports, const std::string& plugin,
                   const domain::InstanceName& name, const rmgr_component& component, std::string digest)
    : library_(std::move(library)),
      component_(component),
      digest_(std::move(digest)),
      services_(std::move(ports), plugin, name) {}

Result<std::shared_ptr<Instance>> Instance::create(std::shared_ptr<Library> library,
                                                   std::shared_ptr<Ports> ports, const std::string& plugin,
                                                   const domain::InstanceName& name,
                                                   const rmgr_component& component,
                                                   const std::string& config_json,
                                                   const std::string& digest) {
  const std::shared_ptr<Instance> made(
      new Instance(std::move(library), std::move(ports), plugin, name, component, digest));
  // Creation has no context of its own; the gate is what carries the explanation.
  Call call("create-" + name.str(), std::chrono::steady_clock::now() + std::chrono::hours(1));
  const auto gate = std::make_shared<Gate>(call, name.str());
  const Result<void> created = made->run(gate, [&] {
    return component.create(made->services_.instance_host(), to_abi(config_json), &made->handle_,
                            gate->error());
  });
  if (!created) {
    made->handle_ = nullptr;  // a failed create leaves nothing to destroy, whatever it wrote
    return created.error();
  }
  if (made->handle_ == nullptr)
    return Error{
        ErrorCode::internal, "The plugin of " + name.str() + " made no instance and did not say why.", {}};
  return made;
}

Instance::~Instance() {
  if (handle_ == nullptr) return;
  const InCallOf blame(digest_);
  component_.destroy(handle_);
}

void Instance::retire(std::shared_ptr<Gate> gate) {
  std::shared_ptr<Gate> oldest;  // ends outside the lock
  const std::lock_guard lock(mutex_);
  retired_.push_back(std::move(gate));
  if (retired_.size() > most_retired) {
    oldest = std::move(retired_.front());
    retired_.pop_front();
  }
}

Error lacks(const Instance& instance, const char* function) {
  return {ErrorCode::unsupported,
          "The plugin of " + instance.name() + " does not offer the operation " + function + ".",
          {}};
}

}  // namespace agent::plugin
