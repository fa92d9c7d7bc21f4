#include "abi/arrows/arrows.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

namespace arrows {
namespace {

const std::map<std::string, std::set<std::string>, std::less<>>& lower_rooms() {
  static const std::map<std::string, std::set<std::string>, std::less<>> rooms = [] {
    std::map<std::string, std::set<std::string>, std::less<>> all;
    all["domain"] = {};
    all["observe"] = {"domain"};
    for (const char* room : {"journal", "config", "plugin", "process", "package", "workspace"})
      all[room] = {"domain", "observe"};
    all["lifecycle"] = {"domain", "observe", "package", "workspace", "process", "plugin", "journal"};
    all["reconcile"] = all["lifecycle"];
    all["reconcile"].insert("lifecycle");
    all["daemon"] = all["reconcile"];
    all["daemon"].insert({"reconcile", "config"});
    all["cli"] = all["daemon"];
    all["cli"].insert("daemon");
    return all;
  }();
  return rooms;
}

struct Owner {
  std::string_view prefix;  // of what is included
  std::string_view folder;  // the one place that may
};
constexpr std::array owners{
    Owner{"sqlite3", "core/journal/"},
    Owner{"yaml-cpp/", "core/config/"},
    Owner{"boost/dll", "core/plugin/"},
    Owner{"archive.h", "core/package/"},
    Owner{"archive_entry.h", "core/package/"},
    Owner{"spdlog/", "core/observe/"},
    Owner{"fmt/", "core/observe/"},
    Owner{"curl/", "plugins/support/http/"},
    Owner{"boost/asio", "core/daemon/"},
    Owner{"boost/beast", "plugins/support/engine/"},
    Owner{"CLI/", "core/cli/"},
};

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::optional<std::string> core_refusal(const std::string& room, const Include& include) {
  const std::string head = split(include.path).front();
  if (head == "rmgr") {
    if (room == "plugin") return std::nullopt;
    return "only core/plugin may include the SDK, not core/" + room + ": " + quoted(include.path);
  }
  if (include.angled || head == room || include.path.find('/') == std::string::npos) return std::nullopt;
  const auto known = lower_rooms().find(room);
  if (known == lower_rooms().end()) return "core/" + room + " is a room that the arrows do not know";
  if (known->second.contains(head)) return std::nullopt;
  return "core/" + room + " must not include " + quoted(include.path);
}

std::optional<std::string> plugin_refusal(const std::string& plugin, const Include& include) {
  const std::string head = split(include.path).front();
  if (lower_rooms().contains(head) && head != plugin && include.path.ends_with(".hpp"))
    return "plugins/" + plugin + " must not include the core: " + quoted(include.path);
  if (include.angled || include.path.find('/') == std::string::npos) return std::nullopt;
  if (head == "rmgr" || head == "support" || head == plugin) return std::nullopt;
  return "plugins/" + plugin + " must not include " + quoted(include.path);
}

}  // namespace

std::vector<Include> includes_of(std::string_view source) {
  static const std::regex line("(?:^|\n)[ \t]*#[ \t]*include[ \t]*([<\"])([^>\"\n]+)[>\"]");
  std::vector<Include> found;
  const std::string text(source);
  for (auto it = std::sregex_iterator(text.begin(), text.end(), line); it != std::sregex_iterator(); ++it)
    found.push_back({(*it)[2].str(), (*it)[1].str() == "<"});
  return found;
}

std::optional<std::string> refusal(std::string_view file, const Include& include) {
  for (const Owner& owner : owners) {
    if (include.path.starts_with(owner.prefix) && !file.starts_with(owner.folder))
      return quoted(include.path) + " belongs to " + std::string(owner.folder);
  }
  if (include.path.starts_with("../") || include.path.find("/../") != std::string::npos)
    return "includes are rooted, not relative: " + quoted(include.path);
  const std::vector<std::string> parts = split(file);
  if (parts.size() < 3) return std::nullopt;
  if (parts[0] == "core") return core_refusal(parts[1], include);
  if (parts[0] == "plugins") return plugin_refusal(parts[1], include);
  if (parts[0] == "sdk" && parts[1] == "include" && !include.angled && !include.path.starts_with("rmgr/"))
    return "the SDK includes the standard library and itself only: " + quoted(include.path);
  if (parts[0] == "sdk" && parts[1] == "include" && include.angled &&
      include.path.find('/') != std::string::npos)
    return "the SDK depends on nothing: <" + include.path + ">";
  // The suite builds from the SDK and the system alone.
  const bool own = include.path.starts_with("rmgr/") || include.path.starts_with("conform/");
  const bool system =
      include.angled && (include.path.starts_with("sys/") || include.path.find('/') == std::string::npos);
  if (parts[0] == "sdk" && parts[1] == "conform" && !own && !system)
    return "the conformance suite includes the SDK and itself only: " + quoted(include.path);
  return std::nullopt;
}

}  // namespace arrows
