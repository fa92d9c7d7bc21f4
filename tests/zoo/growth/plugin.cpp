// A provider as it looks when it was built with the headers of another ABI version: shorter or longer than
// today's.
#include <cstdlib>
#include <cstring>

#include "rmgr/abi/execution_provider.h"

namespace {

// What the host claims to be must arrive here.
rmgr_status init(const rmgr_host* host, const rmgr_error* /*error*/) {
  return host->abi_major == GROWTH_MAJOR && host->abi_minor + 1 > GROWTH_NEEDED ? RMGR_OK : RMGR_E_INVALID;
}
void deinit() {}

rmgr_str config_schema() {
  static constexpr char text[] = R"({"type": "object"})";
  return {text, sizeof(text) - 1};
}
rmgr_status create(const rmgr_instance_host* /*host*/, rmgr_str /*config*/, rmgr_instance** out,
                   const rmgr_error* /*error*/) {
  static int instance = 0;
  *out = reinterpret_cast<rmgr_instance*>(&instance);
  return RMGR_OK;
}
void destroy(rmgr_instance* /*instance*/) {}

rmgr_status probe(rmgr_instance* /*self*/, const rmgr_call* /*call*/, const rmgr_profile* /*profile*/,
                  const rmgr_probe_sink* sink, const rmgr_error* /*error*/) {
  static constexpr char note[] = "grown";
  const rmgr_probe answer{sizeof(rmgr_probe), RMGR_PROBE_READY, {}, {note, sizeof(note) - 1}, 0, 0};
  return sink->write(sink->ctx, &answer);
}

struct Table {
  rmgr_execution_provider known;
  void (*added)();  // what a later minor put at the end
};

constexpr Table make_table() {
  Table made{};
#if defined(GROWTH_ENDS_BEFORE)
  made.known.component.struct_size = offsetof(rmgr_execution_provider, GROWTH_ENDS_BEFORE);
#elif defined(GROWTH_ADDS)
  made.known.component.struct_size = sizeof(Table);
#else
  made.known.component.struct_size = sizeof(rmgr_execution_provider);
#endif
  made.known.component.config_schema = &config_schema;
  made.known.component.create = &create;
  made.known.component.destroy = &destroy;
  made.known.probe = &probe;
  // Behind the end of a short struct these are no functions of this plugin, although the bytes look like it.
  made.known.prepare = [](auto...) -> rmgr_status { return RMGR_OK; };
  made.known.start = [](auto...) -> rmgr_status { return RMGR_E_RETRY; };
  made.known.inspect = [](auto...) -> rmgr_status { return RMGR_E_RETRY; };
  made.known.stop = [](auto...) -> rmgr_status { return RMGR_OK; };
  made.known.remove = [](auto...) -> rmgr_status { return RMGR_OK; };
  made.added = [] { std::abort(); };
  return made;
}
constexpr Table table = make_table();

const void* get_interface(const char* id) {
  return std::strcmp(id, RMGR_INTERFACE_EXECUTION_PROVIDER) == 0 ? &table : nullptr;
}

constexpr const char* interfaces[] = {RMGR_INTERFACE_EXECUTION_PROVIDER, nullptr};
constexpr rmgr_descriptor descriptor{sizeof(rmgr_descriptor), 0,     RMGR_PLUGIN_ID,
                                     RMGR_PLUGIN_VERSION,     "zoo", interfaces};

}  // namespace

extern "C" constinit const rmgr_plugin_entry_t rmgr_plugin_entry = {
    RMGR_PLUGIN_MAGIC,           GROWTH_MAJOR, GROWTH_MINOR, GROWTH_NEEDED, 0,
    sizeof(rmgr_plugin_entry_t), &descriptor,  &init,        &deinit,       &get_interface};
