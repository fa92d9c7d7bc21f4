#include <csignal>
#include <cstdlib>

#include "parts.hpp"

namespace {

// A static constructor runs before anybody can look at the entry.
const int crash = [] {
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
  return 0;
}();

}  // namespace

extern "C" constinit const rmgr_plugin_entry_t rmgr_plugin_entry = broken::entry();
