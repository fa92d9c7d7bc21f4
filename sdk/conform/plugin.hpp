// A loaded library and one instance of one of its components.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "conform/host.hpp"
#include "conform/operation.hpp"
#include "conform/test.hpp"
#include "rmgr/abi/entry.h"

namespace rmgr::conform {

// The library, mapped once in this process and never unmapped. Fails the test if that cannot be done.
const rmgr_plugin_entry_t& load(const Context& context);
// Calls init with the host's struct; answers what it said.
Answer init(const rmgr_plugin_entry_t& entry, const Host& host);

// The configuration with its defaults; fails the test if it does not fit the component's schema.
[[nodiscard]] std::string fitting_config(const Context& context, const rmgr_component& component);
[[nodiscard]] const rmgr_component& component(const Context& context, const rmgr_plugin_entry_t& entry);
Answer create(const rmgr_component& component, const Host& host, std::string_view config,
              rmgr_instance*& out);

class Instance {
 public:
  // Loads, initializes and creates with the context's configuration; fails the test if one of these fails.
  // Nothing is undone at the end: a test process may end as a daemon that crashes.
  explicit Instance(const Context& context, std::set<std::string> absent = {});
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] rmgr_instance* handle() const { return handle_; }
  [[nodiscard]] Host& host() { return *host_; }
  [[nodiscard]] std::uint32_t flags() const { return component_->flags; }
  template <class Table>
  [[nodiscard]] const Table& table() const {
    return *reinterpret_cast<const Table*>(component_);
  }
  void destroy();
  void deinit();

 private:
  std::shared_ptr<Host> host_;  // stays in memory, because a late plugin may still use it
  const rmgr_plugin_entry_t& entry_;
  const rmgr_component* component_ = nullptr;
  rmgr_instance* handle_ = nullptr;
};

}  // namespace rmgr::conform
