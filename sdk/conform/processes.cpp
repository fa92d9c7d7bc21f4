#include "conform/processes.hpp"
#include "conform/files.hpp"

#include <dirent.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

namespace rmgr::conform {
namespace {

struct Stat {
  char state = 0;
  pid_t parent = 0;
  std::uint64_t started = 0;
};

std::optional<Stat> look(std::int64_t pid) {
  const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const std::size_t after_name = text.rfind(')');
  if (after_name == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(after_name + 1));
  Stat stat;
  fields >> stat.state >> stat.parent;
  std::string skipped;
  for (int i = 5; i <= 21; ++i)  // the start time is field 22
    fields >> skipped;
  fields >> stat.started;
  return fields ? std::optional(stat) : std::nullopt;
}

}  // namespace

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

std::optional<std::uint64_t> start_token(std::int64_t pid) {
  const auto stat = look(pid);
  if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  return stat->started;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    pid_t pid = 0;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, pid).ptr != end || pid <= 0) continue;
    const auto stat = look(pid);
    if (stat && stat->parent == ::getpid()) found.push_back(pid);
  }
  return found;
}

void end_children() {
  for (int round = 0; round < 500; ++round) {
    const std::vector<pid_t> left = children();
    for (const pid_t pid : left)
      ::kill(pid, SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (left.empty()) return;
    ::poll(nullptr, 0, 2);
  }
}

}  // namespace rmgr::conform
