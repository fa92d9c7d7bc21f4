// load: the library in a process, without an instance.
#include <dlfcn.h>

#include "conform/plugin.hpp"
#include "rmgr/abi/execution_provider.h"
#include "rmgr/abi/gateway.h"
#include "rmgr/abi/package_source.h"

namespace rmgr::conform {
namespace {

std::string opens(Context& context) {
  load(context);
  return "It loads with every symbol resolved.";
}

std::string init_deinit(Context& context) {
  const rmgr_plugin_entry_t& entry = load(context);
  const Host host(context);
  for (int i = 0; i < context.plan.repeat; ++i) {
    const Answer started = init(entry, host);
    expect(started.ok(), "It refused to start: " + started.text() + ".");
    entry.deinit();
  }
  return "It was initialized and ended " + std::to_string(context.plan.repeat) + " times.";
}

template <class Function>
void need(Function function, const std::string& interface, const char* name) {
  expect(function != nullptr, interface + " has no function " + name + ".");
}

void whole(const rmgr_execution_provider& table, const std::string& interface) {
  need(table.probe, interface, "probe");
  need(table.prepare, interface, "prepare");
  need(table.start, interface, "start");
  need(table.inspect, interface, "inspect");
  need(table.stop, interface, "stop");
  need(table.remove, interface, "remove");
  if ((table.component.flags & RMGR_PROVIDER_HOLDS) != 0) need(table.hold, interface, "hold");
  if ((table.component.flags & RMGR_PROVIDER_ISOLATED) != 0) need(table.resolve, interface, "resolve");
}
void whole(const rmgr_package_source& table, const std::string& interface) {
  need(table.catalog, interface, "catalog");
  need(table.fetch, interface, "fetch");
}
void whole(const rmgr_gateway& table, const std::string& interface) {
  need(table.demand, interface, "demand");
  need(table.inventory, interface, "inventory");
  need(table.register_runner, interface, "register_runner");
  need(table.deregister, interface, "deregister");
}

template <class Table>
void look_at(const void* table, const std::string& interface) {
  const auto* component = static_cast<const rmgr_component*>(table);
  expect(component->struct_size >= sizeof(Table), interface + " is shorter than that of ABI 0.1.");
  need(component->config_schema, interface, "config_schema");
  need(component->create, interface, "create");
  need(component->destroy, interface, "destroy");
  whole(*static_cast<const Table*>(table), interface);
}

std::string interfaces(Context& context) {
  const rmgr_plugin_entry_t& entry = load(context);
  expect(entry.descriptor->struct_size >= sizeof(rmgr_descriptor) && entry.descriptor->interfaces != nullptr,
         "Its descriptor is incomplete.");
  int count = 0;
  for (const char* const* id = entry.descriptor->interfaces; *id != nullptr; ++id, ++count) {
    const void* const table = entry.get_interface(*id);
    expect(table != nullptr, "It lists " + printable(*id, 100) + " and does not offer it.");
    const std::string name = short_name(*id);
    if (name == "execution-provider") look_at<rmgr_execution_provider>(table, name);
    if (name == "package-source") look_at<rmgr_package_source>(table, name);
    if (name == "gateway") look_at<rmgr_gateway>(table, name);
  }
  expect(count > 0, "It offers no interface.");
  return "Each of its " + std::to_string(count) + " interfaces is complete.";
}

std::string unknown_interface(Context& context) {
  const rmgr_plugin_entry_t& entry = load(context);
  for (const char* id : {"rmgr.no-such-interface/1", "rmgr.gateway/999", "", "rmgr."})
    expect(entry.get_interface(id) == nullptr,
           "It answers the unknown interface \"" + std::string(id) + "\".");
  for (const char* const* id = entry.descriptor->interfaces; *id != nullptr; ++id) {
    for (const std::string& other :
         {std::string(*id) + "x", std::string(*id).substr(0, std::string(*id).size() - 1)})
      expect(entry.get_interface(other.c_str()) == nullptr, "It answers \"" + other + "\" like " + *id + ".");
  }
  return "It answers null for interfaces that it does not offer.";
}

std::string exits(Context& context) {
  const rmgr_plugin_entry_t& entry = load(context);
  const Host host(context);
  expect(init(entry, host).ok(), "It refused to start.");
  entry.deinit();
  return "The process ends normally with the library in it.";
}

}  // namespace

Tests load_tests() {
  const std::vector<std::string_view> file{"static.library", "static.magic", "static.abi_major",
                                           "static.abi_minor", "static.sizes"};
  return {
      {"load.opens", "It loads with every symbol resolved at once and none shared with others.", for_library,
       &opens, file},
      {"load.init",
       "It can be initialized and ended several times.",
       for_library,
       &init_deinit,
       {"load.opens"}},
      {"load.interfaces",
       "Each interface that it lists is there, with all functions.",
       for_library,
       &interfaces,
       {"load.opens"}},
      {"load.unknown_interface",
       "An interface that it does not offer is null.",
       for_library,
       &unknown_interface,
       {"load.interfaces"}},
      {"load.exit",
       "A process that has it loaded ends normally.",
       for_library,
       &exits,
       {"load.init"},
       1,
       false,
       true},
  };
}

}  // namespace rmgr::conform
