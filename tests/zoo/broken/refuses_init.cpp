#include "parts.hpp"

namespace {

rmgr_status refuse(const rmgr_host* /*host*/, const rmgr_error* error) {
  static constexpr char why[] = "The zoo is\nclosed today.";
  error->set(error->ctx, {why, sizeof(why) - 1}, 0);
  return RMGR_E_DENIED;
}
constexpr rmgr_plugin_entry_t entry() {
  rmgr_plugin_entry_t made = broken::entry();
  made.init = &refuse;
  return made;
}

}  // namespace

extern "C" constinit const rmgr_plugin_entry_t rmgr_plugin_entry = entry();
