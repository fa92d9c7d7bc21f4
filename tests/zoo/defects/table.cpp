// Libraries that break the boundary itself in one function of the provider's table, chosen by a definition.
// The C++ layer would not let them, so they are written against the C one. All else is the sample's provider.
#include <filesystem>
#include <string_view>
#include <thread>

#include "zoo/sample/sample.hpp"

namespace {

constexpr const rmgr_execution_provider& sound = rmgr::detail::execution_provider_table<sample::Provider>;

[[maybe_unused]] rmgr_str text(std::string_view from) { return {from.data(), from.size()}; }

#if defined(DEFECT_THROWS)
rmgr_status hold(rmgr_instance* self, const rmgr_call* call, const rmgr_allocation* allocation,
                 const rmgr_identity_sink* sink, const rmgr_error* error) {
  static_cast<void>(std::filesystem::file_size(
      std::string(allocation->package.data, allocation->package.size) + "/bin/Runner.Listener"));
  return sound.hold(self, call, allocation, sink, error);
}
#elif defined(DEFECT_EXPLAINS_TWICE)
rmgr_status hold(rmgr_instance* self, const rmgr_call* call, const rmgr_allocation* allocation,
                 const rmgr_identity_sink* sink, const rmgr_error* error) {
  const rmgr_status status = sound.hold(self, call, allocation, sink, error);
  if (status != RMGR_OK) error->set(error->ctx, text("Holding failed."), 0);
  return status;
}
#elif defined(DEFECT_BAD_UTF8)
rmgr_status hold(rmgr_instance* self, const rmgr_call* call, const rmgr_allocation* allocation,
                 const rmgr_identity_sink* sink, const rmgr_error* error) {
  if (allocation->environment.size != 0) return sound.hold(self, call, allocation, sink, error);
  error->set(error->ctx, text("Nothing was prepared for this attempt \xff."), 0);
  return RMGR_E_NOT_FOUND;
}
#elif defined(DEFECT_UNKNOWN_STATUS)
rmgr_status hold(rmgr_instance* self, const rmgr_call* call, const rmgr_allocation* allocation,
                 const rmgr_identity_sink* sink, const rmgr_error* error) {
  const rmgr_status status = sound.hold(self, call, allocation, sink, error);
  return status == RMGR_E_NOT_FOUND ? -2 : status;
}
#else
constexpr auto hold = sound.hold;
#endif

#if defined(DEFECT_LATE_WRITE)
std::thread writer;
rmgr_status probe(rmgr_instance* self, const rmgr_call* call, const rmgr_profile* profile,
                  const rmgr_probe_sink* sink, const rmgr_error* error) {
  const rmgr_status status = sound.probe(self, call, profile, sink, error);
  if (!writer.joinable()) {
    writer = std::thread([sink] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const rmgr_probe item{sizeof(rmgr_probe), RMGR_PROBE_READY, {nullptr, 0}, {nullptr, 0}, 0, 0};
      sink->write(sink->ctx, &item);
    });
  }
  return status;
}
#elif defined(DEFECT_FOREIGN_THREAD)
rmgr_status probe(rmgr_instance* self, const rmgr_call* call, const rmgr_profile* profile,
                  const rmgr_probe_sink* sink, const rmgr_error* error) {
  rmgr_status status = RMGR_OK;
  std::thread([&] { status = sound.probe(self, call, profile, sink, error); }).join();
  return status;
}
#elif defined(DEFECT_IGNORES_REFUSAL)
rmgr_status probe(rmgr_instance* self, const rmgr_call* call, const rmgr_profile* profile,
                  const rmgr_probe_sink* sink, const rmgr_error* error) {
  return sound.probe(self, call, profile, sink, error) == RMGR_OK
             ? RMGR_OK
             : sound.probe(self, call, profile, sink, error);
}
#elif defined(DEFECT_EXACT_SIZE)
rmgr_status probe(rmgr_instance* self, const rmgr_call* call, const rmgr_profile* profile,
                  const rmgr_probe_sink* sink, const rmgr_error* error) {
  if (profile->struct_size == sizeof(rmgr_profile) || profile->struct_size == 0)
    return sound.probe(self, call, profile, sink, error);
  error->set(error->ctx, text("The profile has a strange size."), 0);
  return RMGR_E_INTERNAL;
}
#else
constexpr auto probe = sound.probe;
#endif

void destroy(rmgr_instance* instance) {
#if defined(DEFECT_LATE_WRITE)
  if (writer.joinable()) writer.join();
#endif
  sound.component.destroy(instance);
}

constexpr rmgr_execution_provider table() {
  rmgr_execution_provider made = sound;
  made.hold = hold;
  made.probe = probe;
  made.component.destroy = &destroy;
  return made;
}
constexpr rmgr_execution_provider broken = table();

const void* get_interface(const char* id) {
  return std::string_view(id) == RMGR_INTERFACE_EXECUTION_PROVIDER ? &broken : nullptr;
}

using Sample = rmgr::detail::Library<sample::Provider>;
constexpr rmgr_descriptor descriptor = Sample::describe(RMGR_PLUGIN_ID, RMGR_PLUGIN_VERSION, "zoo");
constexpr rmgr_plugin_entry_t entry() {
  rmgr_plugin_entry_t made = Sample::entry(&descriptor);
  made.get_interface = &get_interface;
  return made;
}

}  // namespace

extern "C" {
constinit const rmgr_plugin_entry_t rmgr_plugin_entry = entry();
}
