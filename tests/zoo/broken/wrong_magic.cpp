#include <cstdlib>

#include "parts.hpp"

namespace {

rmgr_status never(const rmgr_host* /*host*/, const rmgr_error* /*error*/) { std::abort(); }
constexpr rmgr_plugin_entry_t entry() {
  rmgr_plugin_entry_t made = broken::entry();
  made.magic = 0x12345678U;
  made.init = &never;
  return made;
}

}  // namespace

extern "C" constinit const rmgr_plugin_entry_t rmgr_plugin_entry = entry();
