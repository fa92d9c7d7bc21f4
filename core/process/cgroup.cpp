#include "process/cgroup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "crash_point.hpp"
#include "process/fd.hpp"
#include "process/identity.hpp"
#include "process/protocol.hpp"

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;

Error failed(std::string_view key, const char* what, int error_number) {
  return Error{ErrorCode::retry, "The cgroup of " + std::string(key) + " could not be " + what + ": " +
                                     std::strerror(error_number) + "."};
}

Error unlimited(Controller controller) {
  return Error{ErrorCode::unsupported,
               std::string("This machine gives this agent no cgroup controller for ") + name_of(controller) +
                   ", so that limit cannot be enforced; delegate the controller or remove the limit."};
}

Fd open_directory(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Removes the directories below `at`/`name` and itself. Files of a cgroup vanish with their directory.
int remove_tree(int at, const std::string& name, int depth) {
  constexpr int max_depth = 32;
  if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  if (depth == max_depth) return ELOOP;
  const int fd = ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? 0 : errno;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd), ::closedir);
  if (!directory) {
    ::close(fd);
    return ENOMEM;
  }
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_type != DT_DIR || std::strcmp(entry->d_name, ".") == 0 ||
        std::strcmp(entry->d_name, "..") == 0) {
      continue;
    }
    const int failure = remove_tree(fd, entry->d_name, depth + 1);
    if (failure != 0) return failure;
  }
  return ::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
}

// Each of `paths`, one below the other.
int make_directories(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return errno;
  }
  return 0;
}

Result<bool> lives(std::string_view key, const std::string& unified) {
  const Fd fd(::open((unified + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno == ENOENT ? Result<bool>(false) : failed(key, "examined", errno);
  char text[256];
  const ssize_t size = ::read(fd.get(), text, sizeof text);
  if (size <= 0) return size == 0 || errno == ENODEV ? Result<bool>(false) : failed(key, "examined", errno);
  const std::string_view events(text, static_cast<std::size_t>(size));
  if (events.find("populated 0") != std::string_view::npos) return false;
  if (events.find("populated 1") != std::string_view::npos) return true;
  return failed(key, "examined", EPROTO);
}

// Who lives in a cgroup v1 directory; none if there is no such directory.
std::vector<std::int64_t> members(const std::string& group) {
  std::vector<std::int64_t> all;
  std::ifstream file(group + "/cgroup.procs");
  for (std::int64_t pid = 0; file >> pid;)
    all.push_back(pid);
  return all;
}

// Cgroup v1 has no way to kill a group at once.
void kill_members(const std::string& group) {
  constexpr std::size_t at_once = 256;
  const auto all = members(group);
  for (std::size_t begin = 0; begin < all.size(); begin += at_once) {
    std::vector<std::pair<std::int64_t, Fd>> handles;
    for (std::size_t i = begin; i < std::min(begin + at_once, all.size()); ++i) {
      auto opened = open_pid(all[i]);
      if (opened && *opened) handles.emplace_back(all[i], std::move(**opened));
    }
    // A number that is still listed after its handle was taken is the one that was listed before.
    const auto still = members(group);
    for (const auto& [pid, handle] : handles) {
      if (std::find(still.begin(), still.end(), pid) != still.end())
        static_cast<void>(signal(handle, SIGKILL));
    }
  }
}

}  // namespace

Result<Cgroups> Cgroups::open(CgroupPlaces places) {
  Cgroups made(std::move(places));
  const std::string& unified = made.places_.unified;
  if (unified.empty()) return made;
  const Fd fd = open_directory(unified);
  if (!fd || ::faccessat(fd.get(), "cgroup.procs", W_OK, AT_EACCESS) != 0) {
    return Error{ErrorCode::invalid, "The cgroup root " + unified +
                                         " is not a cgroup v2 directory that this account can "
                                         "write: " +
                                         std::strerror(errno) + ". Delegate one, or leave it empty."};
  }
  for (const Controller each : offered(fd.get())) {
    int failure = hand_down(fd.get(), {each});
    if (failure == EBUSY) {
      // A group with processes of its own hands nothing down. If they are ours, they live in a leaf from now
      // on.
      const std::string leaf = unified + '/' + made.places_.name + ".agent";
      const Setting move{"cgroup.procs", "0"};
      std::string file;
      const Fd agent = make_directories({leaf}) == 0 ? open_directory(leaf) : Fd();
      if (agent && write_settings(agent.get(), {move}, file) == 0) failure = hand_down(fd.get(), {each});
    }
    if (failure == 0) made.unified_.push_back(each);
  }
  return made;
}

const std::string& Cgroups::legacy(Controller controller) const {
  switch (controller) {
    case Controller::cpu: return places_.cpu;
    case Controller::memory: return places_.memory;
    case Controller::pids: break;
  }
  return places_.pids;
}

bool Cgroups::limits(Controller controller) const {
  return std::find(unified_.begin(), unified_.end(), controller) != unified_.end() ||
         !legacy(controller).empty();
}

std::vector<std::string> Cgroups::legacy_groups(std::string_view key) const {
  std::vector<std::string> all;
  for (const Controller each : controllers) {
    if (legacy(each).empty()) continue;
    std::string path = ours(legacy(each)) + '/' + std::string(key);
    if (std::find(all.begin(), all.end(), path) == all.end()) all.push_back(std::move(path));
  }
  return all;
}

Result<Group> Cgroups::make(std::string_view key, const Limits& limits) const {
  for (const Controller each : controllers) {
    if (asked_of(limits, each) != 0 && !this->limits(each)) return unlimited(each);
  }
  Group group;
  if (enabled()) {
    group.unified = unified_group(key);
    auto made = make_unified(key, limits);
    if (!made) return made.error();
  }
  auto made = make_legacy(key, limits, group);
  if (!made) return made.error();
  if (limits.any()) RMGR_CRASH_POINT("process.cgroup.limited");
  return group;
}

Result<void> Cgroups::make_unified(std::string_view key, const Limits& limits) const {
  const std::string root = ours(places_.unified);
  const std::string group = unified_group(key);
  const std::string leaf = group + '/' + wire::job_leaf;
  const int failure = make_directories({root, group, group + '/' + wire::shim_leaf, leaf});
  if (failure != 0) return failed(key, "made", failure);
  RMGR_CRASH_POINT("process.cgroup.made");
  const Fd job = open_directory(leaf);
  if (!job || ::faccessat(job.get(), "cgroup.kill", W_OK, AT_EACCESS) != 0) {
    return Error{ErrorCode::unsupported,
                 "The kernel's cgroups have no cgroup.kill, so a job could not be ended as a whole; run the "
                 "agent on Linux 5.14 or later."};
  }
  if (unified_.empty()) return {};
  // From the place itself each time: a service manager takes back what none of its own units uses.
  for (const std::string& path : {places_.unified, root, group}) {
    const Fd fd = open_directory(path);
    const int refused = fd ? hand_down(fd.get(), unified_) : errno;
    if (refused != 0) return failed(key, "given its controllers", refused);
  }
  for (const Controller each : unified_) {
    std::string file;
    const int refused = write_settings(job.get(), unified_settings(each, limits), file);
    if (refused != 0) return failed(key, ("limited by " + file).c_str(), refused);
  }
  return {};
}

Result<void> Cgroups::make_legacy(std::string_view key, const Limits& limits, Group& group) const {
  for (const Controller each : controllers) {
    const bool elsewhere = std::find(unified_.begin(), unified_.end(), each) != unified_.end();
    if (asked_of(limits, each) == 0 || elsewhere) continue;
    const std::string root = ours(legacy(each));
    const std::string path = root + '/' + std::string(key);
    const int failure = make_directories({root, path});
    if (failure != 0) return failed(key, "made", failure);
    RMGR_CRASH_POINT_OF("process.cgroup.made_for_", name_of(each));
    const Fd fd = open_directory(path);
    std::string file;
    const int refused = fd ? write_settings(fd.get(), legacy_settings(each, limits), file) : errno;
    if (refused != 0) return failed(key, ("limited by " + file).c_str(), refused);
    if (std::find(group.limited.begin(), group.limited.end(), path) == group.limited.end())
      group.limited.push_back(path);
  }
  return {};
}

Result<bool> Cgroups::populated(std::string_view key) const {
  if (enabled()) {
    auto some = lives(key, unified_group(key));
    if (!some || *some) return some;
  }
  const auto groups = legacy_groups(key);
  return std::any_of(groups.begin(), groups.end(), [](const auto& group) { return !members(group).empty(); });
}

Result<void> Cgroups::kill(std::string_view key, domain::Millis timeout) const {
  const auto give_up = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    auto some = populated(key);
    if (!some) return some.error();
    if (!*some) return {};
    if (enabled()) {
      const std::string path = unified_group(key) + "/cgroup.kill";
      const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      const bool gone = !fd && errno == ENOENT;
      if (!gone && (!fd || ::write(fd.get(), "1", 1) != 1)) return failed(key, "ended", errno);
    }
    for (const std::string& group : legacy_groups(key))
      kill_members(group);
    if (std::chrono::steady_clock::now() >= give_up) {
      return Error{ErrorCode::busy,
                   "Processes in the cgroup of " + std::string(key) + " did not end when killed."};
    }
    std::this_thread::sleep_for(domain::Millis(5));
  }
}

Result<void> Cgroups::remove(std::string_view key) const {
  auto groups = legacy_groups(key);
  if (enabled()) groups.push_back(unified_group(key));
  for (const std::string& group : groups) {
    const int failure = remove_tree(AT_FDCWD, group, 0);
    RMGR_CRASH_POINT("process.cgroup.removed");
    if (failure == EBUSY) {
      return Error{ErrorCode::busy, "The cgroup of " + std::string(key) + " still holds processes."};
    }
    if (failure != 0) return failed(key, "removed", failure);
  }
  return {};
}

void Cgroups::remove_ours() const {
  for (const std::string* place : {&places_.unified, &places_.cpu, &places_.memory, &places_.pids}) {
    if (place->empty()) continue;
    ::rmdir(ours(*place).c_str());  // refused while groups of attempts are in it, which outlive this daemon
    RMGR_CRASH_POINT("process.cgroup.ours_removed");
  }
}

}  // namespace agent::process
