// What is wrong with the configuration of an instance, as far as it can be told without making one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugin/host.hpp"
#include "plugin/schema.hpp"

namespace agent::plugin {

// Asks each library for its schemas once, in a child process; nothing of a plugin runs in this one.
class ConfigChecker {
 public:
  explicit ConfigChecker(const HostOptions& options);

  struct Findings {
    std::string plugin;                   // what is wrong with the choice of the plugin; empty: nothing
    std::vector<SchemaProblem> problems;  // of the configuration, missing secrets too
    // Why the configuration could not be looked at: names the library; empty: it was.
    std::string unchecked;
    bool plugins_fault = false;  // or its file's; then the start refuses the instance for the same reason
  };
  // Nothing about a plugin that is missing or may not be loaded: that is no fault of the configuration, and
  // `status` and the start say it.
  Findings check(const InstanceSpec& spec);

 private:
  domain::Result<std::string> schema_of(const InstanceSpec& spec, const Discovered& found,
                                        const std::string& interface);
  domain::Result<std::string> ask(const InstanceSpec& spec, const Discovered& found);

  const HostOptions& options_;
  std::vector<Discovered> discovered_;
  struct Asked {
    std::string digest;
    domain::Result<std::string> said;
  };
  std::map<std::string, Asked> asked_;  // by path
};

// One key of a component's configuration, as its schema describes it.
struct SchemaKey {
  std::string path, kind, otherwise, range, description;
  bool required = false, secret = false;
};
struct ComponentReference {
  std::string plugin;
  std::vector<std::string> interfaces;  // that take the same
  std::vector<SchemaKey> keys;
};
// What the plugins of the directories take; only those, if `plugins` names any.
domain::Result<std::vector<ComponentReference>> component_references(const HostOptions& options,
                                                                     const std::vector<std::string>& plugins);

}  // namespace agent::plugin
