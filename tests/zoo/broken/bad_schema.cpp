#include <cstring>

#include "parts.hpp"

namespace {

rmgr_str schema() {
  static constexpr char text[] = R"({"type": "object", "oneOf": []})";
  return {text, sizeof(text) - 1};
}
constexpr rmgr_component component{sizeof(rmgr_gateway), 0, &schema, &broken::create, &broken::destroy};
constexpr rmgr_gateway gateway{component, nullptr, nullptr, nullptr, nullptr};

const void* get_interface(const char* id) {
  return std::strcmp(id, RMGR_INTERFACE_GATEWAY) == 0 ? &gateway : nullptr;
}
constexpr rmgr_plugin_entry_t entry() {
  rmgr_plugin_entry_t made = broken::entry();
  made.get_interface = &get_interface;
  return made;
}

}  // namespace

extern "C" constinit const rmgr_plugin_entry_t rmgr_plugin_entry = entry();
