#include <ostream>

#include "cli/commands.hpp"
#include "cli/document.hpp"
#include "cli/exit_code.hpp"
#include "cli/table.hpp"

namespace agent::cli {
namespace {

// Discovery reports through its answer; there is nothing to log from a command.
class Silence final : public observe::Log {
 public:
  void write(observe::Level, observe::Event, observe::Fields) override {}
};

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words)
    all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

int plugin_list(const PluginListOptions& options, Context& context) {
  plugin::HostOptions host_options;
  host_options.directories = options.directories;
  if (options.directories.empty()) {
    const std::string& file = options.configuration;
    const auto configuration = load(file.empty() ? context.default_configuration : file, context);
    if (!configuration) return kConfigurationRefused;
    host_options.directories = configuration->plugin_directories;
  }
  Silence silence;
  const plugin::PluginHost host(host_options, silence);
  const std::vector<plugin::Discovered> found = host.discover();
  if (options.json) {
    context.out << plugins_json(found) << '\n';
    return kOk;
  }
  Table table({"PLUGIN", "VERSION", "INTERFACES", "LIBRARY", "NOTE"});
  for (const plugin::Discovered& each : found) {
    table.add({each.manifest.id, each.manifest.version, joined(each.manifest.interfaces), each.path,
               each.refusal.value_or("")});
  }
  table.print(context.out);
  return kOk;
}

}  // namespace agent::cli
