// A loaded library and its instances, as a test host keeps them.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rmgr/abi/entry.h"
#include "rmgr/error.hpp"
#include "rmgr/testing/checked_call.hpp"
#include "rmgr/testing/services.hpp"

namespace rmgr::testing::detail {

[[noreturn]] inline void refuse(const std::string& why) { throw Error(Status::invalid, why); }

// Every rule about the entry object; throws rmgr::Error.
inline void check_entry(const rmgr_plugin_entry_t& entry, std::uint16_t host_major,
                        std::uint16_t host_minor) {
  if (entry.magic != RMGR_PLUGIN_MAGIC) refuse("The entry object has the wrong magic number.");
  if (entry.abi_major != host_major || entry.need_host_minor > host_minor ||
      (host_major == 0 && entry.abi_minor != host_minor))
    refuse("The plugin was built for another ABI version than this host offers.");
  if (entry.need_host_minor > entry.abi_minor) refuse("The plugin needs a newer ABI than it was built with.");
  if (entry.struct_size < sizeof(rmgr_plugin_entry_t) || entry.descriptor == nullptr ||
      entry.init == nullptr || entry.deinit == nullptr || entry.get_interface == nullptr)
    refuse("The entry object is incomplete.");
  const rmgr_descriptor& descriptor = *entry.descriptor;
  if (descriptor.struct_size < sizeof(rmgr_descriptor) || descriptor.id == nullptr ||
      descriptor.version == nullptr || descriptor.vendor == nullptr || descriptor.interfaces == nullptr ||
      descriptor.flags != 0)
    refuse("The descriptor is incomplete.");
  const std::string_view id(descriptor.id);
  if (id.empty() || id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string_view::npos)
    refuse("The id must be lower-case letters, digits and dashes.");
  const std::string_view version(descriptor.version);
  if (version.find_first_not_of("0123456789.") != std::string_view::npos ||
      std::count(version.begin(), version.end(), '.') != 2)
    refuse("The version must be MAJOR.MINOR.PATCH.");
}

// Runs init when it is made and deinit when its last user is gone.
class Library {
 public:
  Library(std::shared_ptr<World> world, const rmgr_plugin_entry_t& entry)
      : world_(std::move(world)), entry_(entry), services_(*world_, "") {
    check_entry(entry_, world_->abi_major, world_->abi_minor);
    const auto call = std::make_shared<CheckedCall>(*world_, "init", CallControl());
    const Outcome outcome = call->run([&] { return entry_.init(services_.library_host(), call->error()); });
    if (!outcome.ok()) throw Error(outcome.status, outcome.message);
    check_interfaces();
  }
  ~Library() {
    entry_.deinit();
    services_.end();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] const rmgr_descriptor& descriptor() const { return *entry_.descriptor; }
  [[nodiscard]] World& world() const { return *world_; }
  [[nodiscard]] const rmgr_component& component(const char* interface) const {
    const void* const found = entry_.get_interface(interface);
    if (found == nullptr) refuse("The plugin does not offer " + std::string(interface) + ".");
    return *static_cast<const rmgr_component*>(found);
  }

 private:
  void check_interfaces() {
    for (const char* const* id = entry_.descriptor->interfaces; *id != nullptr; ++id) {
      const void* const found = entry_.get_interface(*id);
      const auto* const component = static_cast<const rmgr_component*>(found);
      if (component == nullptr || component->struct_size < sizeof(rmgr_component) ||
          component->config_schema == nullptr || component->create == nullptr ||
          component->destroy == nullptr) {
        world_->record.violation("get_interface", std::string("offers no complete ") + *id);
        continue;
      }
      if (!world_->record.check_text("config_schema", component->config_schema(), 1U << 20U)) continue;
      if (entry_.get_interface((std::string(*id) + "x").c_str()) != nullptr)
        world_->record.violation("get_interface", "answers ids that it does not list");
    }
  }
  std::shared_ptr<World> world_;
  const rmgr_plugin_entry_t& entry_;
  Services services_;
};

// The entry of a library on the disk. It stays mapped until the process ends, as with the real host.
inline const rmgr_plugin_entry_t& entry_of_file(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    refuse("The library cannot be loaded: " + std::string(why == nullptr ? "no reason given" : why));
  }
  const void* const symbol = ::dlsym(library, "rmgr_plugin_entry");
  ::dlclose(library);
  if (symbol == nullptr) refuse("The library exports no rmgr_plugin_entry.");
  return *static_cast<const rmgr_plugin_entry_t*>(symbol);
}

// One instance, with the functions of its interface as far as the plugin's struct reaches.
template <class Table>
class Instance {
 public:
  Instance(std::shared_ptr<Library> library, const char* interface, std::string name,
           const std::string& config)
      : library_(std::move(library)),
        component_(library_->component(interface)),
        services_(std::make_unique<Services>(library_->world(), std::move(name))) {
    std::memcpy(static_cast<void*>(&table_), &component_,
                std::min<std::size_t>(component_.struct_size, sizeof(Table)));
    const auto call = make_call<CheckedCall>("create", CallControl());
    const Outcome outcome = run(call, [&] {
      return component_.create(services_->instance_host(), to_abi(config), &handle_, call->error());
    });
    if (!outcome.ok()) throw Error(outcome.status, outcome.message, outcome.retry_after);
    if (handle_ == nullptr) {
      world().record.violation("create", "succeeded without an instance");
      refuse("The plugin made no instance.");
    }
  }
  ~Instance() {
    if (handle_ != nullptr) component_.destroy(handle_);
    services_->end();
    keep(std::move(services_));
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] rmgr_instance* handle() const { return handle_; }
  [[nodiscard]] const Table& table() const { return table_; }
  [[nodiscard]] std::uint32_t flags() const { return component_.flags; }
  [[nodiscard]] World& world() const { return library_->world(); }

  template <class Call, class... Rest>
  std::shared_ptr<Call> make_call(const char* operation, CallControl control, Rest&&... rest) const {
    return std::make_shared<Call>(world(), operation, std::move(control), std::forward<Rest>(rest)...);
  }
  Outcome run(const std::shared_ptr<CheckedCall>& call, const std::function<rmgr_status()>& function) {
    const Services::Inside inside(*services_);
    return call->run(function);
  }

 private:
  // Services stay, so that a plugin which uses one late is reported rather than crashed.
  void keep(std::shared_ptr<Services> services) {
    const std::lock_guard lock(world().mutex);
    world().ended.push_back(std::move(services));
  }
  std::shared_ptr<Library> library_;
  const rmgr_component& component_;
  std::unique_ptr<Services> services_;
  Table table_{};
  rmgr_instance* handle_ = nullptr;
};

[[nodiscard]] inline Outcome lacking(const char* function) {
  return {Status::unsupported, std::string("The plugin does not offer ") + function + ".", Millis{0}};
}
template <class T>
[[nodiscard]] Answer<T> answer(Outcome outcome, T value) {
  return {std::move(outcome), std::move(value)};
}

}  // namespace rmgr::testing::detail
