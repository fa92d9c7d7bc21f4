#define BOOST_DLL_USE_STD_FS
#include "plugin/library.hpp"

#include <dlfcn.h>

#include <boost/dll/shared_library.hpp>
#include <cstring>

#include "plugin/crash_note.hpp"
#include "plugin/gate.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

constexpr std::size_t most_interfaces = 16;
constexpr std::size_t most_name = 128;

Error refuse(const std::string& what) { return {ErrorCode::invalid, what, {}}; }

// A C string of a plugin, at most `most_name` bytes of it.
std::string name_from(const char* text) {
  return text == nullptr ? std::string() : one_line({text, ::strnlen(text, most_name)}, most_name);
}

// Maps the library for good and answers its entry.
Result<const rmgr_plugin_entry_t*> map_library(const std::string& path) {
  namespace dll = boost::dll;
  try {
    const dll::shared_library library(path, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
    // A plugin's threads, exit handlers and thread-local destructors may run until the end, so it is never
    // unmapped.
    if (::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE) == nullptr)
      return Error{ErrorCode::internal, "The library " + path + " could not be kept in memory.", {}};
    if (!library.has("rmgr_plugin_entry"))
      return refuse("The library " + path + " exports no rmgr_plugin_entry, so it is not a plugin.");
    return &library.get<const rmgr_plugin_entry_t>("rmgr_plugin_entry");
  } catch (const std::exception& failure) {
    return refuse("The library cannot be loaded: " + one_line(failure.what(), 1000));
  }
}

// Keeps what init says when it fails.
struct InitError {
  std::string message;
  static void RMGR_CALL set(void* ctx, rmgr_str message, std::int64_t /*retry_after_ms*/) noexcept {
    (void)at_boundary([&]() -> rmgr_status {
      static_cast<InitError*>(ctx)->message = one_line(view_of(message).substr(0, 2000), 2000);
      return RMGR_OK;
    });
  }
};

}  // namespace

Result<void> check_entry(const rmgr_plugin_entry_t& entry, std::string_view id, AbiVersion host) {
  if (entry.magic != RMGR_PLUGIN_MAGIC)
    return refuse("Its entry object is not that of a plugin (wrong magic number).");
  if (const auto refusal = refuse_version({entry.abi_major, entry.abi_minor}, entry.need_host_minor, host))
    return refuse(*refusal);
  if (entry.struct_size < sizeof(rmgr_plugin_entry_t))
    return refuse("Its entry object is too short; build it anew.");
  if (entry.descriptor == nullptr || entry.init == nullptr || entry.deinit == nullptr ||
      entry.get_interface == nullptr)
    return refuse("Its entry object is incomplete; build it anew.");
  const rmgr_descriptor& descriptor = *entry.descriptor;
  if (descriptor.struct_size < sizeof(rmgr_descriptor) || descriptor.id == nullptr ||
      descriptor.version == nullptr || descriptor.interfaces == nullptr)
    return refuse("Its descriptor is incomplete; build it anew.");
  if (!id.empty() && name_from(descriptor.id) != id)
    return refuse("It says that it is " + name_from(descriptor.id) + ", but its manifest says " +
                  std::string(id) + "; install manifest and library of one build.");
  return {};
}

Result<std::shared_ptr<Library>> Library::load(const std::string& path, const std::string& id,
                                               std::shared_ptr<Ports> ports, const std::string& digest) {
  const InCallOf blame(digest);
  const Result<const rmgr_plugin_entry_t*> entry = map_library(path);
  if (!entry) return entry.error();
  know_code(*entry, digest);
  const Result<void> sound = check_entry(**entry, id, ports->abi());
  if (!sound) return sound.error();
  auto services = std::make_unique<Services>(std::move(ports), id, domain::InstanceName());
  InitError reason;
  const rmgr_error error{sizeof(rmgr_error), 0, &reason, &InitError::set};
  const rmgr_status status = (*entry)->init(services->library_host(), &error);
  if (status != RMGR_OK)
    return refuse("It refused to start: " +
                  (reason.message.empty() ? "it did not say why (status " + std::to_string(status) + ")."
                                          : reason.message));
  return std::shared_ptr<Library>(new Library(*entry, std::move(services), digest));
}

Library::~Library() {
  const InCallOf blame(digest_);
  entry_->deinit();
}

std::string Library::version() const { return name_from(entry_->descriptor->version); }

std::vector<std::string> Library::interfaces() const {
  std::vector<std::string> ids;
  for (const char* const* id = entry_->descriptor->interfaces; *id != nullptr && ids.size() < most_interfaces;
       ++id)
    ids.push_back(name_from(*id));
  return ids;
}

Result<const rmgr_component*> Library::component(const std::string& interface) const {
  const InCallOf blame(digest_);
  const void* const found = entry_->get_interface(interface.c_str());
  if (found == nullptr) return refuse("It does not offer the interface " + interface + ".");
  const auto* const component = static_cast<const rmgr_component*>(found);
  if (component->struct_size < sizeof(rmgr_component) || component->config_schema == nullptr ||
      component->create == nullptr || component->destroy == nullptr)
    return refuse("Its interface " + interface + " is incomplete; build it anew.");
  return component;
}

const void* Library::extension(const char* interface) const {
  const InCallOf blame(digest_);
  return entry_->get_interface(interface);
}

std::string Library::schema_of(const rmgr_component& component) const {
  const InCallOf blame(digest_);
  return std::string(view_of(component.config_schema()));
}

}  // namespace agent::plugin
