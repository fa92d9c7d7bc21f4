#include "process/shim/launch.hpp"

#include <cstring>

namespace agent::process::shim {
namespace {

// The next zero-ended string, or null.
char* take(char*& at, const char* end) {
  if (at == end) return nullptr;
  auto* stop = static_cast<char*>(std::memchr(at, 0, static_cast<std::size_t>(end - at)));
  if (stop == nullptr) return nullptr;
  char* text = at;
  at = stop + 1;
  return text;
}

bool take_all(char*& at, const char* end, char** out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = take(at, end);
    if (out[i] == nullptr) return false;
  }
  return true;
}

// Every path that the shim or the child opens.
bool are_paths(char* const* texts, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (texts[i][0] != '/') return false;
  }
  return true;
}

}  // namespace

bool parse_launch(char* payload, std::size_t size, Launch& out) {
  if (size < sizeof out.header) return false;
  std::memcpy(&out.header, payload, sizeof out.header);
  const wire::LaunchHeader& header = out.header;
  if (header.argument_count == 0 || header.argument_count > wire::max_arguments ||
      header.environment_count > wire::max_environment || header.limited_count > wire::max_limited ||
      header.resource_limit_count > wire::max_resource_limits ||
      header.hidden_count > wire::max_directories || header.private_count > wire::max_directories) {
    return false;
  }
  char* at = payload + sizeof header;
  const char* end = payload + size;
  const std::size_t limits = header.resource_limit_count * sizeof out.resource_limits[0];
  if (static_cast<std::size_t>(end - at) < limits) return false;
  std::memcpy(out.resource_limits, at, limits);
  at += limits;
  out.record_root = take(at, end);
  out.key = take(at, end);
  out.cgroup = take(at, end);
  out.directory = take(at, end);
  if (out.record_root == nullptr || out.key == nullptr || out.cgroup == nullptr || out.directory == nullptr) {
    return false;
  }
  if (!take_all(at, end, out.arguments, header.argument_count) ||
      !take_all(at, end, out.environment, header.environment_count) ||
      !take_all(at, end, out.limited, header.limited_count) ||
      !take_all(at, end, out.hidden, header.hidden_count)) {
    return false;
  }
  for (std::size_t i = 0; i < header.private_count; ++i) {
    Launch::Private& each = out.privates[i];
    each.target = take(at, end);
    each.backing = take(at, end);
    if (each.target == nullptr || each.backing == nullptr || each.target[0] != '/') return false;
  }
  return at == end && out.record_root[0] == '/' && out.directory[0] == '/' && out.arguments[0][0] == '/' &&
         are_paths(out.limited, header.limited_count) && are_paths(out.hidden, header.hidden_count) &&
         out.key[0] != 0 && out.key[0] != '.' && std::strchr(out.key, '/') == nullptr;
}

bool parse_release(char* payload, std::size_t size) {
  auto* name_end = static_cast<char*>(std::memchr(payload, 0, size));
  if (name_end == nullptr || name_end == payload) return false;
  const auto value_size = static_cast<std::size_t>(payload + size - name_end - 1);
  if (value_size > wire::max_secret || std::memchr(name_end + 1, 0, value_size) != nullptr) return false;
  *name_end = '=';
  payload[size] = 0;
  return true;
}

}  // namespace agent::process::shim
