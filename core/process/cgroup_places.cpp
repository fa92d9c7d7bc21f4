#include "process/cgroup_places.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

namespace agent::process {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

bool holds(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The path of a mount, whose blanks and backslashes the kernel writes as \ooo.
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

// The daemon's group in the hierarchy with this controller; that of cgroup v2 has none.
std::string_view own_group(std::string_view own, std::string_view controller) {
  for (const std::string_view line : split(own, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? names.empty() : holds(names, controller)) return line.substr(second + 1);
  }
  return {};
}

bool writable(const std::string& directory) {
  return ::faccessat(AT_FDCWD, (directory + "/cgroup.procs").c_str(), W_OK, AT_EACCESS) == 0 &&
         ::faccessat(AT_FDCWD, directory.c_str(), W_OK, AT_EACCESS) == 0;
}

// `group` as seen below a mount of the hierarchy whose top is `top`.
std::string place(const std::string& mount, std::string_view top, std::string_view group) {
  if (writable(mount)) return mount;
  if (top != "/") {
    if (!group.starts_with(top)) return {};
    group.remove_prefix(top.size());
  }
  while (group.ends_with('/'))
    group.remove_suffix(1);
  if (group.empty() || group.find("..") != std::string_view::npos) return {};
  std::string inner = mount + std::string(group.front() == '/' ? "" : "/") + std::string(group);
  return writable(inner) ? inner : std::string();
}

std::string text_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

CgroupPlaces find_cgroups(std::string name, std::string_view mountinfo, std::string_view own) {
  CgroupPlaces places{std::move(name), {}, {}, {}, {}};
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 6 || after.size() < 3) continue;
    const std::string mount = plain(before[4]);
    const std::string top = plain(before[3]);
    if (after[0] == "cgroup2" && places.unified.empty()) {
      places.unified = place(mount, top, own_group(own, ""));
    }
    if (after[0] != "cgroup") continue;
    const auto take = [&](std::string_view controller, std::string& out) {
      if (out.empty() && holds(after[2], controller)) out = place(mount, top, own_group(own, controller));
    };
    take("cpu", places.cpu);
    take("memory", places.memory);
    take("pids", places.pids);
  }
  return places;
}

CgroupPlaces own_cgroups(std::string name) {
  return find_cgroups(std::move(name), text_of("/proc/self/mountinfo"), text_of("/proc/self/cgroup"));
}

}  // namespace agent::process
