#include "conform/plugin.hpp"

#include <dlfcn.h>

#include "conform/schema.hpp"

namespace rmgr::conform {

const rmgr_plugin_entry_t& load(const Context& context) {
  void* const library = ::dlopen(context.plan.plugin.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    fail("It cannot be loaded: " + printable(why == nullptr ? "no reason was given" : why));
  }
  const auto* const entry = static_cast<const rmgr_plugin_entry_t*>(::dlsym(library, "rmgr_plugin_entry"));
  if (entry == nullptr) fail("It exports no rmgr_plugin_entry.");
  expect(entry->magic == RMGR_PLUGIN_MAGIC && entry->abi_major == RMGR_ABI_MAJOR &&
             entry->struct_size >= sizeof(rmgr_plugin_entry_t),
         "Its entry object is that of no plugin of this ABI.");
  expect(entry->descriptor != nullptr && entry->init != nullptr && entry->deinit != nullptr &&
             entry->get_interface != nullptr,
         "Its entry object is incomplete.");
  return *entry;
}

Answer init(const rmgr_plugin_entry_t& entry, const Host& host) {
  Operation operation("init");
  return operation.run([&] { return entry.init(host.library(), operation.error()); });
}

const rmgr_component& component(const Context& context, const rmgr_plugin_entry_t& entry) {
  const void* const found = entry.get_interface(interface_of(context.interface).c_str());
  expect(found != nullptr, "It does not offer " + interface_of(context.interface) + ".");
  const auto& made = *static_cast<const rmgr_component*>(found);
  expect(made.struct_size >= sizeof(rmgr_component) && made.config_schema != nullptr &&
             made.create != nullptr && made.destroy != nullptr,
         "Its interface " + interface_of(context.interface) + " is incomplete.");
  return made;
}

std::string fitting_config(const Context& context, const rmgr_component& component) {
  const auto schema = Json::parse(from_abi(component.config_schema()));
  if (!schema || !schema_problem(*schema).empty()) fail("Its configuration schema is not in the subset.");
  Json config = context.config();
  const auto problems = config_problems(*schema, config);
  if (!problems.empty())
    fail("The configuration given does not fit its schema: " + printable(problems.front()) +
         "; give another with --config.");
  return config.dump();
}

Answer create(const rmgr_component& component, const Host& host, std::string_view config,
              rmgr_instance*& out) {
  Operation operation("create");
  return operation.run(
      [&] { return component.create(host.instance(), to_abi(config), &out, operation.error()); });
}

Instance::Instance(const Context& context, std::set<std::string> absent)
    : host_(std::make_shared<Host>(context, std::move(absent))), entry_(load(context)) {
  witness().keep(host_);
  const Answer started = init(entry_, *host_);
  expect(started.ok(), "It refused to start: " + started.text() + ".");
  component_ = &component(context, entry_);
  const Answer made = create(*component_, *host_, fitting_config(context, *component_), handle_);
  expect(made.ok(), "No instance could be made: " + made.text() + ".");
  expect(handle_ != nullptr, "create answered ok without an instance.");
}

void Instance::destroy() {
  component_->destroy(handle_);
  host_->retire();
}

void Instance::deinit() { entry_.deinit(); }

}  // namespace rmgr::conform
