// One loaded plugin library. It stays mapped until the process ends, whatever becomes of this object.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.hpp"
#include "plugin/services.hpp"
#include "plugin/version.hpp"
#include "rmgr/abi/entry.h"

namespace agent::plugin {

// Every rule about the entry object that can be looked at before a function of the plugin runs. `id` is the
// manifest's, `host` the version that this host offers.
domain::Result<void> check_entry(const rmgr_plugin_entry_t& entry, std::string_view id, AbiVersion host = {});

class Library {
 public:
  // Loads, checks the entry, then runs init. `path` is absolute and canonical; `digest` is the file's, for
  // crash notes; "" for none.
  static domain::Result<std::shared_ptr<Library>> load(const std::string& path, const std::string& id,
                                                       std::shared_ptr<Ports> ports,
                                                       const std::string& digest);
  ~Library();  // deinit; every instance is gone, because each keeps its library
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] std::string version() const;
  [[nodiscard]] std::vector<std::string> interfaces() const;
  // The head of an interface that the library offers, checked; an error if it does not or if the struct is
  // too short.
  [[nodiscard]] domain::Result<const rmgr_component*> component(const std::string& interface) const;
  // An interface that is no component; nothing if the library does not offer it. It begins with its size.
  [[nodiscard]] const void* extension(const char* interface) const;
  [[nodiscard]] std::string schema_of(const rmgr_component& component) const;

 private:
  Library(const rmgr_plugin_entry_t* entry, std::unique_ptr<Services> services, std::string digest)
      : entry_(entry), services_(std::move(services)), digest_(std::move(digest)) {}
  const rmgr_plugin_entry_t* entry_;
  std::unique_ptr<Services> services_;
  std::string digest_;
};

}  // namespace agent::plugin
