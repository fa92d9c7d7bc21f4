#include "process/shim/tree.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "process/shim/io.hpp"
#include "process/stat_line.hpp"

namespace agent::process::shim {
namespace {

bool read_stat(int proc, pid_t pid, StatLine& line) {
  char path[32];
  char text[1024];
  std::snprintf(path, sizeof path, "%d/stat", pid);
  const std::ptrdiff_t size = read_file(proc, path, text, sizeof text);
  return size > 0 && parse_stat({text, static_cast<std::size_t>(size)}, line);
}

bool counted_kill(int group, const char* file) {
  char text[1024];
  if (read_file(group, file, text, sizeof text) <= 0) return false;
  const char* line = std::strstr(text, "oom_kill ");
  return line != nullptr && std::strtol(line + sizeof("oom_kill ") - 1, nullptr, 10) > 0;
}

}  // namespace

bool Tree::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
    if (pid == 0) return false;
    if (pid < 0) {
      if (errno == EINTR) continue;
      return errno == ECHILD;
    }
    if (pid == main_) {
      main_ended_ = true;
      main_status_ = status;
    }
  }
}

void Tree::ask() {
  // The main child is reaped by this thread only, so while it is not, its number names its group.
  if (main_ <= 0 || main_ended_) return;
  ::kill(-main_, SIGTERM);
  ::kill(-main_, SIGCONT);
}

void Tree::kill() {
  if (const int job = groups_.front(); job >= 0) {
    const int fd = ::openat(job, "cgroup.kill", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
      write_all(fd, "1", 1);
      ::close(fd);
    }
  }
  const std::size_t count = scan();
  mark(count);
  const int proc = ::dirfd(proc_);
  for (std::size_t i = 0; i < count; ++i) {
    const TreeEntry& entry = room_[i];
    if (!entry.ours) continue;
    // Grandchildren are reaped by their own parents, so the number may name a stranger by now: the handle is
    // taken first and the start compared after it.
    const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, entry.pid, 0));
    if (handle < 0) continue;
    StatLine line;
    if (read_stat(proc, entry.pid, line) && line.start == entry.start) {
      ::syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0);
    }
    ::close(handle);
  }
}

std::size_t Tree::scan() {
  std::size_t count = 0;
  const int proc = ::dirfd(proc_);
  ::rewinddir(proc_);
  while (const dirent* entry = ::readdir(proc_)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    StatLine line;
    if (!read_stat(proc, pid, line)) continue;
    if (count == capacity_) break;
    room_[count++] = TreeEntry{pid, static_cast<pid_t>(line.parent), line.start, false};
  }
  std::sort(room_, room_ + count, [](const TreeEntry& a, const TreeEntry& b) { return a.pid < b.pid; });
  return count;
}

void Tree::mark(std::size_t count) {
  const pid_t self = ::getpid();
  const TreeEntry* end = room_ + count;
  for (bool changed = true; changed;) {
    changed = false;
    for (TreeEntry* entry = room_; entry != end; ++entry) {
      if (entry->ours || entry->pid == self) continue;
      bool ours = entry->parent == self;
      if (!ours) {
        const TreeEntry* parent = std::lower_bound(const_cast<const TreeEntry*>(room_), end, entry->parent,
                                                   [](const TreeEntry& e, pid_t pid) { return e.pid < pid; });
        ours = parent != end && parent->pid == entry->parent && parent->ours;
      }
      if (ours) {
        entry->ours = true;
        changed = true;
      }
    }
  }
}

bool Tree::out_of_memory() const {
  // The second is what cgroup v1 calls it.
  return std::any_of(groups_.begin(), groups_.end(), [](int group) {
    return group >= 0 && (counted_kill(group, "memory.events") || counted_kill(group, "memory.oom_control"));
  });
}

}  // namespace agent::process::shim
