// One instance of a component, and how each call of it is made.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "plugin/components.hpp"
#include "plugin/crash_note.hpp"
#include "plugin/gate.hpp"
#include "plugin/library.hpp"
#include "plugin/services.hpp"

namespace agent::plugin {

// Destroys itself with its last owner. A call that never comes back is an owner, so nothing is pulled away
// under it.
class Instance {
 public:
  // `config_json` already satisfies the schema. `digest` is the library file's, for crash notes; "" for none.
  static Result<std::shared_ptr<Instance>> create(std::shared_ptr<Library> library,
                                                  std::shared_ptr<Ports> ports, const std::string& plugin,
                                                  const domain::InstanceName& name,
                                                  const rmgr_component& component,
                                                  const std::string& config_json, const std::string& digest);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] const std::string& name() const { return services_.instance().str(); }
  [[nodiscard]] rmgr_instance* handle() const { return handle_; }
  [[nodiscard]] std::uint32_t flags() const { return component_.flags; }

  // The interface struct as far as the plugin's reaches; functions beyond it are null.
  template <class Table>
  [[nodiscard]] Table table() const {
    Table copy{};
    std::memcpy(static_cast<void*>(&copy), &component_,
                std::min<std::size_t>(component_.struct_size, sizeof(Table)));
    return copy;
  }

  // The same for an interface beside the component's; all of it is null where the library does not offer it.
  template <class Table>
  [[nodiscard]] Table extension(const char* interface) const {
    Table copy{};
    if (const void* const found = library_->extension(interface)) {
      std::uint32_t size = 0;
      std::memcpy(&size, found, sizeof(size));
      std::memcpy(static_cast<void*>(&copy), found, std::min<std::size_t>(size, sizeof(Table)));
    }
    return copy;
  }

  // Runs `function`, which calls the plugin and answers its status, as a call of this instance.
  template <class Function>
  Result<void> run(const std::shared_ptr<Gate>& gate, Function&& function) {
    gate->belongs_to(digest_);
    services_.threads().enter();
    const rmgr_status status = in_plugin(function);
    services_.threads().leave();
    Result<void> result = gate->close(status);
    retire(gate);
    return result;
  }

 private:
  // The call alone; what is done with its answer is the host's.
  template <class Function>
  rmgr_status in_plugin(Function& function) const {
    const InCallOf blame(digest_);
    return function();
  }
  Instance(std::shared_ptr<Library> library, std::shared_ptr<Ports> ports, const std::string& plugin,
           const domain::InstanceName& name, const rmgr_component& component, std::string digest);
  // Keeps closed gates for a while, for plugins that use one late.
  void retire(std::shared_ptr<Gate> gate);

  std::shared_ptr<Library> library_;
  const rmgr_component& component_;
  const std::string digest_;
  Services services_;
  rmgr_instance* handle_ = nullptr;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Gate>> retired_;
};

// The facades. An error names the function that the plugin lacks.
Result<std::unique_ptr<ExecutionProvider>> make_provider(std::shared_ptr<Instance> instance);
Result<std::unique_ptr<PackageSource>> make_package_source(std::shared_ptr<Instance> instance);
Result<std::unique_ptr<Gateway>> make_gateway(std::shared_ptr<Instance> instance);

// A part of a facade: that a function of the interface is missing.
[[nodiscard]] domain::Error lacks(const Instance& instance, const char* function);

}  // namespace agent::plugin
