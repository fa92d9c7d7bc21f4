#include <cstring>

#include "parts.hpp"

namespace {

// A struct that ends after `demand`: what lies behind must count as absent.
constexpr rmgr_gateway table() {
  rmgr_gateway made{};
  made.component = {offsetof(rmgr_gateway, inventory), 0, &broken::any_schema, &broken::create,
                    &broken::destroy};
  made.demand = [](rmgr_instance*, const rmgr_call*, rmgr_str, const rmgr_job_sink*, rmgr_demand_result*,
                   const rmgr_error*) -> rmgr_status { return RMGR_OK; };
  made.inventory = [](rmgr_instance*, const rmgr_call*, rmgr_str, const rmgr_runner_sink*,
                      const rmgr_error*) -> rmgr_status { return RMGR_OK; };
  return made;
}
constexpr rmgr_gateway gateway = table();

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
