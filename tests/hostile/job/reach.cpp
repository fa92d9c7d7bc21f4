// Jobs that reach for the agent, its supervisors and other jobs.
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "hostile/job/attacks.hpp"

namespace hostile {
namespace {

std::string word(const Words& words, const char* name) {
  const auto found = words.find(name);
  return found == words.end() ? std::string() : found->second;
}

pid_t number(const Words& words, const char* name) { return std::atoi(word(words, name).c_str()); }

std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return all;
  while (const dirent* entry = ::readdir(proc)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid > 0) all.push_back(pid);
  }
  ::closedir(proc);
  return all;
}

// Not of this account, as far as can be seen.
bool is_a_stranger(pid_t pid) {
  struct stat info {};
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Uid:")) return std::strtoul(line.c_str() + 4, nullptr, 10) != ::getuid();
  }
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &info) == 0 && info.st_uid != ::getuid();
}

// The parents up to the first one of another account: this job's supervisor.
pid_t supervisor() {
  pid_t at = ::getpid();
  for (int steps = 0; steps < 64 && at > 1; ++steps) {
    std::ifstream status("/proc/" + std::to_string(at) + "/status");
    pid_t parent = 0;
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("PPid:")) parent = std::atoi(line.c_str() + 5);
    }
    if (parent > 1 && is_a_stranger(parent)) return parent;
    at = parent;
  }
  return 0;
}

bool reads(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  char byte = 0;
  const bool read = fd >= 0 && ::read(fd, &byte, 1) > 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  errno = why;
  return read;
}

bool lists(const std::string& path) {
  DIR* directory = ::opendir(path.c_str());
  const bool listed = directory != nullptr && ::readdir(directory) != nullptr;
  if (directory != nullptr) ::closedir(directory);
  return listed;
}

bool writes(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

bool put(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int why = errno;
  ::close(fd);
  errno = why;
  return written;
}

bool reads_memory(pid_t pid) {
  const std::string of = "/proc/" + std::to_string(pid);
  // Any place that is mapped for certain would do; where the map cannot be read, a guess.
  char buffer[8];
  iovec mine{buffer, sizeof buffer};
  iovec theirs{reinterpret_cast<void*>(0x400000), sizeof buffer};
  std::ifstream maps(of + "/maps");
  unsigned long begin = 0;
  if (maps >> std::hex >> begin) return true;  // the map itself is closed to strangers
  return reads(of + "/environ") || reads(of + "/auxv") ||
         ::open((of + "/mem").c_str(), O_RDONLY | O_CLOEXEC) >= 0 ||
         ::process_vm_readv(pid, &mine, 1, &theirs, 1, 0) > 0;
}

bool attaches(pid_t pid) {
  if (::ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) != 0 &&
      ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0)
    return false;
  ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  return true;
}

bool takes_a_descriptor(pid_t pid) {
  const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (handle < 0) return false;
  for (int fd = 0; fd < 32; ++fd) {
    if (::syscall(SYS_pidfd_getfd, handle, fd, 0) >= 0) return true;
  }
  return false;
}

bool connects(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

void signaller(const Words& words) {
  const pid_t shim = supervisor();
  note("the supervisor is " + std::string(shim > 0 ? "known" : "unknown"));
  for (const auto& [name, pid] : {std::pair{"the agent", number(words, "daemon")},
                                  {"the supervisor", shim},
                                  {"another job", number(words, "victim")}}) {
    if (pid <= 1) {
      note(std::string("no number of ") + name);
      continue;
    }
    for (const int signal : {SIGKILL, SIGSTOP, SIGTERM, SIGUSR1})
      tried(std::string("signal ") + std::to_string(signal) + " to " + name, ::kill(pid, signal) == 0);
  }
  int reached = 0;
  for (const pid_t pid : all_processes()) {
    if (pid > 1 && is_a_stranger(pid) && ::kill(pid, 0) == 0) ++reached;
  }
  errno = EPERM;
  tried("a signal to any process of others", reached > 0);
  note("over");
  ::kill(-1, SIGKILL);  // everything that may be reached, itself included
}

void reader(const Words& words) {
  const std::string state = word(words, "state");
  for (const char* file : {"/journal.db", "/journal.db-wal", "/lock", "/reserve"})
    tried("reading state" + std::string(file), reads(state + file));
  for (const char* directory :
       {"", "/packages", "/packages/store", "/records", "/processes", "/control", "/instances"})
    tried("listing state" + std::string(directory), lists(state + directory));
  tried("writing into the state", writes(state + "/hostile"));
  tried("writing into the records of processes", writes(state + "/processes/hostile"));
  tried("forging its own exit record", writes(state + "/processes/" + word(words, "attempt") + "/exit"));
  tried("writing into the packages", writes(state + "/packages/hostile"));
  tried("connecting to the control socket", connects(word(words, "socket")));
  tried("reading the token", reads(word(words, "token")));
  tried("reading the configuration", writes(word(words, "config")));
  tried("writing the log", writes(word(words, "log")));
  const std::string victim = word(words, "victim_runtime");
  for (const char* name : {"", "/_work", "/_diag", "/_home", "/_temp"})
    tried("listing another runtime" + std::string(name), lists(victim + name));
  for (const char* name : {"/.credentials", "/.runner", "/.credentials_rsaparams", "/bin/Runner.Listener"})
    tried("reading another runtime" + std::string(name), reads(victim + name));
  tried("writing into another runtime", writes(victim + "/hostile"));
  tried("listing all runtimes", lists(word(words, "runtimes")));
  const std::string daemon = "/proc/" + word(words, "daemon");
  for (const char* way : {"/root", "/cwd", "/fd", "/task", "/map_files"}) {
    if (std::string(way) != "/task") tried("entering the agent by " + std::string(way), lists(daemon + way));
  }
}

void memory_reader(const Words& words) {
  for (const auto& [name, pid] : {std::pair{"the agent", number(words, "daemon")},
                                  {"the supervisor", supervisor()},
                                  {"another job", number(words, "victim")}}) {
    if (pid <= 1) {
      note(std::string("no number of ") + name);
      continue;
    }
    tried(std::string("reading memory of ") + name, reads_memory(pid));
    tried(std::string("tracing ") + name, attaches(pid));
    tried(std::string("taking a descriptor of ") + name, takes_a_descriptor(pid));
  }
  int read = 0;
  for (const pid_t pid : all_processes()) {
    if (is_a_stranger(pid) && reads("/proc/" + std::to_string(pid) + "/environ")) ++read;
  }
  errno = EACCES;
  tried("reading the environment of any process of others", read > 0);
  // As a member of a user namespace of its own it is "root" there; that must open nothing here.
  tried_apart("reading memory of the agent from a user namespace",
              [&] { return ::unshare(CLONE_NEWUSER) == 0 && reads_memory(number(words, "daemon")); });
}

void kernel_tricks(const Words& words) {
  const std::string daemon = "/proc/" + word(words, "daemon");
  tried_apart("mounting", [] { return ::mount("none", "_temp", "tmpfs", 0, nullptr) == 0; });
  tried_apart("a mount namespace", [] { return ::unshare(CLONE_NEWNS) == 0; });
  tried_apart("a PID namespace", [] { return ::unshare(CLONE_NEWPID) == 0; });
  tried_apart("a change of root", [] { return ::chroot("/") == 0; });
  for (const char* space : {"mnt", "pid", "net", "user"}) {
    tried_apart(std::string("entering the agent's namespace ") + space, [&] {
      const int fd = ::open((daemon + "/ns/" + space).c_str(), O_RDONLY | O_CLOEXEC);
      return fd >= 0 && ::setns(fd, 0) == 0;
    });
  }
  tried_apart("becoming root", [] { return ::setuid(0) == 0 || ::setresuid(0, 0, 0) == 0; });
  tried_apart("another group", [] {
    const gid_t root = 0;
    return ::setgroups(1, &root) == 0 || ::setgid(0) == 0;
  });
  tried_apart("becoming another job",
              [&] { return ::setuid(static_cast<uid_t>(number(words, "victim_uid"))) == 0; });
  tried_apart("giving a file away", [] { return writes("gift") && ::chown("gift", 0, 0) == 0; });
  tried_apart("a device file", [] { return ::mknod("device", S_IFBLK | 0666, makedev(8, 0)) == 0; });
  tried_apart("a real-time priority", [] {
    const sched_param most{.sched_priority = 10};
    return ::sched_setscheduler(0, SCHED_FIFO, &most) == 0;
  });
  tried_apart("a better nice level", [] { return ::setpriority(PRIO_PROCESS, 0, -10) == 0; });
  tried_apart("safety from the out-of-memory killer", [] { return put("/proc/self/oom_score_adj", "-500"); });
  tried_apart("a kernel setting", [] { return put("/proc/sys/kernel/core_pattern", "|/bin/false"); });
  tried_apart("a kernel module", [] { return ::syscall(SYS_init_module, nullptr, 0, "") == 0; });
  tried_apart("another host name", [] { return ::sethostname("hostile", 7) == 0; });
  // Out of its own cgroup, wherever this machine mounts them.
  for (const char* root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids",
                           "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/freezer"}) {
    tried_apart(std::string("leaving for ") + root,
                [&] { return put(root + std::string("/cgroup.procs"), "0"); });
    tried_apart(std::string("a group of its own in ") + root,
                [&] { return ::mkdir((root + std::string("/hostile")).c_str(), 0755) == 0; });
  }
  std::ifstream own("/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {
    const std::string path = line.substr(line.rfind(':') + 1);
    const std::string controller = line.substr(line.find(':') + 1, line.rfind(':') - line.find(':') - 1);
    if (path == "/") continue;
    for (const std::string& root : {std::string("/sys/fs/cgroup"), std::string("/sys/fs/cgroup/unified"),
                                    "/sys/fs/cgroup/" + controller}) {
      for (const char* file :
           {"/pids.max", "/memory.max", "/memory.limit_in_bytes", "/cgroup.procs", "/cpu.max"})
        tried_apart("changing " + controller + file, [&] { return put(root + path + file, "0"); });
    }
  }
  // With rights in a namespace of its own: they end where the machine begins.
  tried_apart("reading the journal from a user namespace", [&] {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    static_cast<void>(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    static_cast<void>(::mount(word(words, "state").c_str(), "_temp", nullptr, MS_BIND | MS_REC, nullptr));
    return reads("_temp/journal.db") || reads(word(words, "state") + "/journal.db");
  });
  tried_apart("a signal to the agent from a user namespace",
              [&] { return ::unshare(CLONE_NEWUSER) == 0 && ::kill(number(words, "daemon"), SIGKILL) == 0; });
}

}  // namespace hostile
