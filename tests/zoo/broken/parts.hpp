// Pieces of entry objects that plugins of the zoo break, each in its own way.
#pragma once

#include "rmgr/abi/gateway.h"

namespace broken {

inline constexpr const char* interfaces[] = {RMGR_INTERFACE_GATEWAY, nullptr};
inline constexpr rmgr_descriptor descriptor{sizeof(rmgr_descriptor), 0,     RMGR_PLUGIN_ID,
                                            RMGR_PLUGIN_VERSION,     "zoo", interfaces};

inline rmgr_status init(const rmgr_host* /*host*/, const rmgr_error* /*error*/) { return RMGR_OK; }
inline void deinit() {}
inline const void* no_interface(const char* /*id*/) { return nullptr; }

constexpr rmgr_plugin_entry_t entry() {
  return {RMGR_PLUGIN_MAGIC,           RMGR_ABI_MAJOR, RMGR_ABI_MINOR, RMGR_ABI_MINOR, 0,
          sizeof(rmgr_plugin_entry_t), &descriptor,    &init,          &deinit,        &no_interface};
}

// --- a gateway of which every function is missing, to be filled in
inline rmgr_str any_schema() {
  static constexpr char text[] = R"({"type": "object"})";
  return {text, sizeof(text) - 1};
}
inline int one_instance = 0;
inline rmgr_status create(const rmgr_instance_host* /*host*/, rmgr_str /*config*/, rmgr_instance** out,
                          const rmgr_error* /*error*/) {
  *out = reinterpret_cast<rmgr_instance*>(&one_instance);
  return RMGR_OK;
}
inline void destroy(rmgr_instance* /*instance*/) {}

}  // namespace broken
