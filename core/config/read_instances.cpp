#include <algorithm>
#include <map>

#include "config/json.hpp"
#include "config/readers.hpp"

namespace agent::config {
namespace {

constexpr std::size_t kMostInstances = 100;
constexpr std::size_t kLongestConfig = 64 * 1024;

bool is_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

// Where each name was given first.
using Names = std::map<std::string, int>;

void read_name(Section& section, std::string_view key, std::string& out) {
  section.required_text(key, out);
  if (out.empty() || is_name(out)) return;
  section.fail(
      key, section.mark_of(key),
      std::string(key) +
          " must be 1 to 64 letters, digits, '-', '_' or '.', beginning with a letter, a digit or '_'");
  out.clear();
}

Instance read_instance(const Node& node, const std::string& kind, Names& names, Problems& problems) {
  Section section(&node, kind, problems);
  Instance instance;
  std::string name;
  read_name(section, "name", name);
  read_name(section, "plugin", instance.plugin);
  section.boolean("required", instance.required);
  section.boolean("enabled", instance.enabled);
  std::string digest;
  section.text("sha256", digest);
  if (section.has("sha256")) {
    instance.sha256 = parse_sha256(digest);
    if (!instance.sha256 && !section.failed("sha256")) {
      section.fail("sha256", section.mark_of("sha256"),
                   "sha256 must be the digest of the plugin's library: 64 hexadecimal digits");
    }
  }
  const Node* config = section.map("config");
  instance.config_json = to_json(config, problems);
  const auto place = [](Mark mark) { return Place{mark.line, mark.column}; };
  instance.plugin_place = place(section.mark_of("plugin"));
  if (config != nullptr) note_places(*config, instance);
  // A map in block style begins at its first key; its own key says more about it.
  instance.value_places[""] = place(section.mark_of("config"));
  if (instance.config_json.size() > kLongestConfig) {
    section.fail("config", section.mark_of("config"), "config is larger than 64 KiB");
  }
  if (instance.required && !instance.enabled) {
    section.fail("required", section.mark_of("required"),
                 "required and disabled exclude each other; remove one of them");
  }
  section.finish();
  if (!name.empty()) {
    const auto [first, added] = names.emplace(name, section.mark_of("name").line);
    if (!added) {
      section.fail("name", section.mark_of("name"),
                   "the name " + shown(name) + " was given already in line " + std::to_string(first->second) +
                       "; gateways, package sources and providers share their names");
    }
  }
  instance.name = domain::InstanceName(name);
  return instance;
}

std::vector<Instance> read_list(Section& root, std::string_view key, const std::string& kind, Names& names,
                                Problems& problems) {
  std::vector<Instance> all;
  const Node* list = root.list(key);
  if (list == nullptr) return all;
  if (list->items.size() > kMostInstances) {
    root.fail(key, list->mark, std::string(key) + " must have at most 100 entries");
    return all;
  }
  for (const Node& item : list->items) {
    if (item.kind == Node::Kind::map) {
      all.push_back(read_instance(item, kind, names, problems));
    } else {
      root.fail(key, item.kind == Node::Kind::null ? list->mark : item.mark,
                "each of " + std::string(key) + " must be a map of keys and values, not " + describe(item));
    }
  }
  return all;
}

}  // namespace

void read_instances(Section& root, Configuration& out, Problems& problems) {
  Names names;
  out.gateways = read_list(root, "gateways", "a gateway", names, problems);
  out.package_sources = read_list(root, "package_sources", "a package source", names, problems);
  out.providers = read_list(root, "providers", "a provider", names, problems);
}

}  // namespace agent::config
