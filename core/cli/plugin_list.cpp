#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/table.hpp"
#include "plugin/host.hpp"

namespace agent::cli {

namespace {

class SilentLog final : public observe::Log {
 public:
  void write(observe::Level, observe::Event, observe::Fields) override {}
};

}  // namespace

int plugin_list(Surface& surface, const std::string& config_file, const std::vector<std::string>& directories,
                bool as_json) {
  plugin::HostOptions options;
  options.directories = directories;
  if (!config_file.empty()) {
    auto configuration = load(surface, config_file);
    if (!configuration) return kConfigurationRefused;
    options.directories.insert(options.directories.end(), configuration->plugin_directories.begin(),
                               configuration->plugin_directories.end());
  }
  SilentLog log;
  const plugin::PluginHost host(options, log);
  nlohmann::json rows = nlohmann::json::array();
  Table table({"PLUGIN", "VERSION", "INTERFACES", "USABLE", "LIBRARY"});
  std::vector<std::string> refusals;
  for (const plugin::Discovered& found : host.discover()) {
    std::string interfaces;
    for (const std::string& id : found.manifest.interfaces)
      interfaces += (interfaces.empty() ? "" : ",") + id;
    rows.push_back({{"id", found.manifest.id},
                    {"version", found.manifest.version},
                    {"interfaces", found.manifest.interfaces},
                    {"library", found.path},
                    {"refusal", found.refusal ? nlohmann::json(*found.refusal) : nlohmann::json(nullptr)}});
    table.add(
        {found.manifest.id, found.manifest.version, interfaces, found.refusal ? "no" : "yes", found.path});
    if (found.refusal) refusals.push_back(found.manifest.id + ": " + *found.refusal);
  }
  if (as_json) {
    surface.out << nlohmann::json{{"plugins", rows}}.dump(-1, ' ', false,
                                                          nlohmann::json::error_handler_t::replace)
                << '\n';
    return kOk;
  }
  table.print(surface.out);
  for (const std::string& refusal : refusals)
    surface.out << "  " << refusal << '\n';
  return kOk;
}

}  // namespace agent::cli
