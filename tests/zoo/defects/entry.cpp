// Libraries whose entry has one defect, chosen by a definition. All else is the sample's provider.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "zoo/sample/sample.hpp"

namespace {

using Sample = rmgr::detail::Library<sample::Provider>;

constexpr rmgr_descriptor descriptor() {
  rmgr_descriptor made = Sample::describe(RMGR_PLUGIN_ID, RMGR_PLUGIN_VERSION, "zoo");
#if defined(DEFECT_OTHER_MANIFEST)
  made.version = "9.9.9";
#endif
  return made;
}
constexpr rmgr_descriptor described = descriptor();

#if defined(DEFECT_CRASHES_IN_INIT)
rmgr_status crash(const rmgr_host* /*host*/, const rmgr_error* /*error*/) { std::abort(); }
#endif

#if defined(DEFECT_HANGS_IN_INIT)
rmgr_status hang(const rmgr_host* /*host*/, const rmgr_error* /*error*/) {
  while (true)
    ::pause();
}
#endif

#if defined(DEFECT_EXITS_IN_INIT)
rmgr_status leave(const rmgr_host* /*host*/, const rmgr_error* /*error*/) { std::_Exit(0); }
#endif

#if defined(DEFECT_ANSWERS_ANY_INTERFACE)
// Compares only as far as it knows.
const void* any_interface(const char* id) {
  constexpr const char known[] = RMGR_INTERFACE_EXECUTION_PROVIDER;
  return std::strncmp(id, known, sizeof known - 1) == 0 ? Sample::get_interface(known) : nullptr;
}
#endif

constexpr rmgr_plugin_entry_t entry() {
  rmgr_plugin_entry_t made = Sample::entry(&described);
#if defined(DEFECT_OTHER_MAJOR)
  made.abi_major = RMGR_ABI_MAJOR + 1;
#elif defined(DEFECT_NEWER_MINOR)
  made.need_host_minor = RMGR_ABI_MINOR + 1;
#elif defined(DEFECT_SHORT_STRUCT)
  made.struct_size = sizeof(rmgr_plugin_entry_t) - sizeof(void*);
#elif defined(DEFECT_CRASHES_IN_INIT)
  made.init = &crash;
#elif defined(DEFECT_HANGS_IN_INIT)
  made.init = &hang;
#elif defined(DEFECT_EXITS_IN_INIT)
  made.init = &leave;
#elif defined(DEFECT_ANSWERS_ANY_INTERFACE)
  made.get_interface = &any_interface;
#endif
  return made;
}

}  // namespace

extern "C" {
constinit const rmgr_plugin_entry_t rmgr_plugin_entry = entry();
#if defined(DEFECT_TWO_SYMBOLS)
RMGR_EXPORT extern const int another_symbol;
constinit const int another_symbol = 1;
#endif
}
