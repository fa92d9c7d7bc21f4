#include "process/cgroup_limits.hpp"

#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "process/fd.hpp"

namespace agent::process {
namespace {

// The kernel's default, and what the milliseconds of a second are counted against.
constexpr std::int64_t period_us = 100'000;

std::string quota(const Limits& limits) { return std::to_string(limits.cpu_milli * period_us / 1000); }

int write_value(int group, const char* file, std::string_view value) {
  const Fd fd(::openat(group, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return errno;
  return ::write(fd.get(), value.data(), value.size()) < 0 ? errno : 0;
}

std::string read_value(int group, const char* file) {
  const Fd fd(::openat(group, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char text[1024];
  const ssize_t size = fd ? ::read(fd.get(), text, sizeof text) : -1;
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || text[at - 1] == ' ';
    if (starts && (end == text.size() || text[end] == ' ' || text[end] == '\n')) return true;
  }
  return false;
}

}  // namespace

const char* name_of(Controller controller) {
  switch (controller) {
    case Controller::cpu: return "cpu";
    case Controller::memory: return "memory";
    case Controller::pids: break;
  }
  return "pids";
}

std::int64_t asked_of(const Limits& limits, Controller controller) {
  switch (controller) {
    case Controller::cpu: return limits.cpu_milli;
    case Controller::memory: return limits.memory_bytes;
    case Controller::pids: break;
  }
  return limits.pids;
}

std::vector<Setting> unified_settings(Controller controller, const Limits& limits) {
  if (asked_of(limits, controller) == 0) return {};
  switch (controller) {
    case Controller::cpu: return {{"cpu.max", quota(limits) + ' ' + std::to_string(period_us)}};
    case Controller::memory:
      // Swap would turn the limit into a slow machine. One process killed of several leaves a job that is
      // broken without knowing it.
      return {{"memory.max", std::to_string(limits.memory_bytes)},
              {"memory.swap.max", "0", true},
              {"memory.oom.group", "1"}};
    case Controller::pids: break;
  }
  return {{"pids.max", std::to_string(limits.pids)}};
}

std::vector<Setting> legacy_settings(Controller controller, const Limits& limits) {
  if (asked_of(limits, controller) == 0) return {};
  switch (controller) {
    case Controller::cpu:
      return {{"cpu.cfs_period_us", std::to_string(period_us)}, {"cpu.cfs_quota_us", quota(limits)}};
    case Controller::memory:
      // Memory and swap together may not be less than memory alone, so that one comes first.
      return {{"memory.limit_in_bytes", std::to_string(limits.memory_bytes)},
              {"memory.memsw.limit_in_bytes", std::to_string(limits.memory_bytes), true}};
    case Controller::pids: break;
  }
  return {{"pids.max", std::to_string(limits.pids)}};
}

int write_settings(int group, const std::vector<Setting>& settings, std::string& failed) {
  for (const Setting& setting : settings) {
    const int failure = write_value(group, setting.file.c_str(), setting.value);
    if (failure == 0 || (setting.optional && (failure == ENOENT || failure == EOPNOTSUPP))) continue;
    failed = setting.file;
    return failure;
  }
  return 0;
}

std::vector<Controller> offered(int group) {
  const std::string text = read_value(group, "cgroup.controllers");
  std::vector<Controller> all;
  for (const Controller each : controllers) {
    if (has_word(text, name_of(each))) all.push_back(each);
  }
  return all;
}

int hand_down(int group, const std::vector<Controller>& wanted) {
  const std::string enabled = read_value(group, "cgroup.subtree_control");
  for (const Controller each : wanted) {
    if (has_word(enabled, name_of(each))) continue;
    const int failure = write_value(group, "cgroup.subtree_control", std::string("+") + name_of(each));
    if (failure != 0) return failure;
  }
  return 0;
}

}  // namespace agent::process
