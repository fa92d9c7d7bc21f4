#include <ostream>

#include "cli/commands.hpp"
#include "plugin/config_check.hpp"

namespace agent::cli {
namespace {

// A cell of a table: no line breaks, and a bar that ends no cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

void print_core(std::ostream& out) {
  out << "## The file\n\n| key | kind | default | range |\n|---|---|---|---|\n";
  for (const config::Key& key : config::all_keys()) {
    out << "| " << code(key.path) << " | " << key.kind << " | "
        << (key.required ? "required" : code(key.otherwise)) << " | " << cell(key.range) << " |\n";
  }
}

void print_component(std::ostream& out, const plugin::ComponentReference& component) {
  out << "\n## Plugin " << code(component.plugin) << "\n\n";
  for (const std::string& interface : component.interfaces)
    out << (interface == component.interfaces.front() ? "As " : " and ") << code(interface);
  out << ".\n\n";
  if (component.keys.empty()) {
    out << "Nothing can be configured.\n";
    return;
  }
  out << "| key below `config` | kind | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const plugin::SchemaKey& key : component.keys) {
    out << "| " << code(key.path) << " | " << (key.secret ? "secret reference" : key.kind) << " | "
        << (key.required ? "required" : code(key.otherwise)) << " | " << code(key.range) << " | "
        << cell(key.description) << " |\n";
  }
}

}  // namespace

int config_reference(Surface& surface, const std::vector<std::string>& directories,
                     const std::vector<std::string>& plugins) {
  const auto programs = program_directory(surface);
  if (!programs) return kFailed;
  plugin::HostOptions options;
  options.directories = directories;
  options.checker = *programs + "/rmgr-plugin-check";
  const auto components = plugin::component_references(options, plugins);
  if (!components) return failed(surface, components.error(), kFailed);
  surface.out
      << "# Every key of the configuration\n\n"
         "Made by `runner-manager config reference` from what the program and its plugins check; do not "
         "edit.\n[configuration.md](configuration.md) has the meaning of each key and the rules between "
         "them. `[]` stands for each\nentry of a list.\n\n";
  print_core(surface.out);
  for (const plugin::ComponentReference& component : *components)
    print_component(surface.out, component);
  return kOk;
}

}  // namespace agent::cli
