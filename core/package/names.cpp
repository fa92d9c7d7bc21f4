#include "package/names.hpp"

#include <algorithm>
#include <deque>
#include <vector>

namespace agent::package {

namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto slash = text.find('/');
    if (slash != 0) parts.emplace_back(text.substr(0, slash));
    text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts) {
  std::string path;
  for (const auto& part : parts)
    path += (path.empty() ? "" : "/") + part;
  return path;
}

bool is_workspace(std::string_view name) {
  return name.size() == 5 && name[0] == '_' &&
         std::equal(name.begin() + 1, name.end(), "work", [](char a, char b) { return (a | 0x20) == b; });
}

constexpr int kMaximumHops = 40;

bool stays_inside(const std::string& link, const std::map<std::string, std::string>& links) {
  auto here = split(link);
  here.pop_back();
  const auto& first = links.at(link);
  if (first.starts_with('/')) return false;
  const auto parts = split(first);
  std::deque<std::string> todo(parts.begin(), parts.end());
  int hops = 1;
  while (!todo.empty()) {
    auto part = std::move(todo.front());
    todo.pop_front();
    if (part == ".") continue;
    if (part == "..") {
      if (here.empty()) return false;
      here.pop_back();
      continue;
    }
    here.push_back(std::move(part));
    const auto next = links.find(join(here));
    if (next == links.end()) continue;
    if (++hops > kMaximumHops || next->second.starts_with('/')) return false;
    here.pop_back();
    const auto more = split(next->second);
    todo.insert(todo.begin(), more.begin(), more.end());
  }
  return true;
}

}  // namespace

std::variant<std::string, Violation> entry_path(std::string_view name, const UnpackLimits& limits) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return Violation::unusable_name;
  if (name.front() == '/') return Violation::absolute_name;
  if (name.size() > limits.path) return Violation::name_too_long;
  auto parts = split(name);
  if (std::find(parts.begin(), parts.end(), "..") != parts.end()) return Violation::escaping_name;
  std::erase(parts, ".");
  for (const auto& part : parts) {
    if (part.size() > limits.name) return Violation::name_too_long;
  }
  if (parts.size() > static_cast<std::size_t>(limits.depth)) return Violation::too_deep;
  if (!parts.empty() && is_workspace(parts.front())) return Violation::workspace_name;
  return join(parts);
}

bool links_stay_inside(const std::map<std::string, std::string>& links) {
  return std::all_of(links.begin(), links.end(),
                     [&](const auto& link) { return stays_inside(link.first, links); });
}

}  // namespace agent::package
