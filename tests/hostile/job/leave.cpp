// Jobs that leave something behind.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <string>

#include "hostile/job/attacks.hpp"

namespace hostile {
namespace {

void write_file(const std::string& path, const std::string& text, mode_t mode = 0644) {
  std::ofstream(path, std::ios::binary) << text;
  ::chmod(path.c_str(), mode);
}

// Tests run side by side, so each account has names of its own.
std::string hostile_name() { return "/hostile-" + std::to_string(::getuid()) + '-'; }

// A child of init that nobody can tell by session, group, parent, name, environment or directory.
bool in_a_daemon(const char* name) {
  if (::fork() != 0) return false;
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  ::setsid();
  if (::chdir("/") != 0) ::_exit(1);
  ::prctl(PR_SET_NAME, name);
  for (int signal = 1; signal < NSIG; ++signal)
    std::signal(signal, SIG_IGN);
  return true;
}

}  // namespace

void daemons(const Words&) {
  for (const char* name : {"kworker/0:1", "rmgr-shim", "bash"}) {
    if (!in_a_daemon(name)) continue;
    for (int kept = 3; kept < 64; ++kept)
      ::close(kept);
    for (;;)
      ::pause();
  }
  // One that is born again and again under another number.
  if (in_a_daemon("hopper")) {
    for (int hop = 0; hop < 100'000; ++hop) {
      ::usleep(2'000);
      if (::fork() != 0) ::_exit(0);
      ::setsid();
    }
    ::_exit(0);
  }
  ::usleep(200'000);
}

void late_writer(const Words&) {
  ::mkdir("late", 0777);
  if (in_a_daemon("writer")) {
    for (int at = 0; at < 10'000'000; ++at) {
      const std::string name = "/late-" + std::to_string(at % 500);
      // By the handle of its old directory, by name, and beside it.
      write_file("late" + name, "x");
      write_file("late/" + std::to_string(at), "x");
    }
    ::_exit(0);
  }
  if (::fork() == 0) {
    ::setsid();
    for (int at = 0; at < 10'000'000; ++at) {
      ::mkdir(("late/d" + std::to_string(at % 100)).c_str(), 0777);
      write_file("late/d" + std::to_string(at % 100) + "/f" + std::to_string(at), "x");
    }
    ::_exit(0);
  }
  ::usleep(200'000);
}

void stopper(const Words&) {
  note("over");
  // Its listener, its worker and every other process of the account; itself last.
  ::kill(-1, SIGSTOP);
  ::kill(::getpid(), SIGSTOP);
}

void setuid_leaver(const Words& words) {
  std::string program;
  {
    std::ifstream self("/proc/self/exe", std::ios::binary);
    program.assign(std::istreambuf_iterator<char>(self), {});
  }
  for (const std::string& place :
       {std::string("setuid-left"), "/tmp" + hostile_name() + "setuid",
        "/var/tmp" + hostile_name() + "setuid", "/dev/shm" + hostile_name() + "setuid"}) {
    write_file(place, program, 06755);
    struct stat info {};
    note(std::string(place) +
         (::stat(place.c_str(), &info) == 0 && (info.st_mode & S_ISUID) != 0 ? " left" : " not left"));
  }
  const auto runtimes = words.find("runtimes");
  if (runtimes != words.end())
    tried("a file in the root of runtimes", ::mkdir((runtimes->second + "/left").c_str(), 0777) == 0);
}

void squatter(const Words&) {
  int made = 0;
  for (const std::string place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    for (const char* name :
         {"runner-manager", "rmgr", "clr-debug-pipe", "dotnet-diagnostic", ".dotnet", "npm-cache"}) {
      const std::string path = place + hostile_name() + name;
      made += ::mkdir(path.c_str(), 0700) == 0 ? 1 : 0;
      write_file(path + "/poison", "x");
      made += ::symlink("/etc/passwd", (path + "-link").c_str()) == 0 ? 1 : 0;
      made += ::mkfifo((path + "-fifo").c_str(), 0666) == 0 ? 1 : 0;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = place + hostile_name() + "socket";
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    made += ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 1 : 0;
  }
  // Deeper than a removal that descends would go, behind doors that nobody may open.
  for (const std::string& place : {"/tmp" + hostile_name() + "deep", "/dev/shm" + hostile_name() + "deep"}) {
    if (::mkdir(place.c_str(), 0700) != 0 || ::chdir(place.c_str()) != 0) continue;
    for (int depth = 0; depth < 500 && ::mkdir("d", 0777) == 0; ++depth) {
      write_file("f", "x", 0000);
      ::mkdir("e", 0000);
      if (::chdir("d") != 0) break;
    }
    ::chmod(place.c_str(), 0000);
  }
  note(std::to_string(made) + " names in shared directories");
}

void trap_layer(const Words& words) {
  const auto given = [&](const char* name) {
    const auto found = words.find(name);
    return found == words.end() ? std::string("/etc") : found->second;
  };
  const std::string canary = given("canary");
  // What the agent reads and removes, replaced by what leads or waits elsewhere.
  for (const char* name : {"_work", "_home", "_temp"}) {
    ::rename(name, (std::string("was") + name).c_str());
    note(std::string(name) +
         (::symlink(canary.c_str(), name) == 0 ? " leads elsewhere" : " could not be replaced"));
  }
  ::mkfifo("_diag/Runner_20990101-000000-utc.log", 0666);
  ::mkfifo("_diag/Worker_20990101-000000-utc.log", 0666);
  ::symlink((canary + "/file").c_str(), "_diag/Worker_20990101-000001-utc.log");
  ::symlink("/proc/self/mem", "_diag/Runner_20990101-000001-utc.log");
  ::symlink("loop", "loop");
  ::mkfifo("fifo", 0666);
  ::symlink(canary.c_str(), "canary");
  tried("a second name of a file of root", ::link((canary + "/file").c_str(), "second-name") == 0);
  tried("renaming itself out of its directory",
        ::rename(".", (given("runtimes") + "/elsewhere").c_str()) == 0);
  const std::string self = given("self");
  tried("replacing its own directory", ::rename(self.c_str(), (self + "-gone").c_str()) == 0);
  write_file("new\nline", "x");
  write_file("\xff\xfe\x80", "x");
  write_file(std::string(255, 'n'), "x");
  write_file("-rf", "x");
  write_file("\x1b[31mred", "x");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "socket");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  static_cast<void>(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
}

void closed_doors(const Words&) {
  for (const char* name : {"closed", "closed/inner"})
    ::mkdir(name, 0700);
  write_file("closed/inner/file", "x", 0000);
  write_file("closed/file", "x", 0000);
  const int fd = ::open("closed/file", O_RDONLY | O_CLOEXEC);
  const int directory = ::open("closed/inner", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (const int each : {fd, directory}) {
    int flags = FS_IMMUTABLE_FL | FS_APPEND_FL;
    tried("an immutable entry", each >= 0 && ::ioctl(each, FS_IOC_SETFLAGS, &flags) == 0);
  }
  ::chmod("closed/inner", 0000);
  ::chmod("closed", 0000);
  ::chmod("_work", 0000);
  ::chmod("_diag", 0000);
  // Deeper than any path can say, and wider than a listing in memory should be.
  ::mkdir("deep", 0700);
  int depth = 0;
  const int top = ::open("deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int home = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (::fchdir(top) == 0) {
    const std::string name(200, 'd');
    while (depth < 1'000 && ::mkdir(name.c_str(), 0700) == 0 && ::chdir(name.c_str()) == 0)
      ++depth;
    if (::fchdir(home) != 0) note("lost its way");
  }
  ::mkdir("wide", 0700);
  for (int at = 0; at < 5'000; ++at)
    ::close(::open(("wide/" + std::to_string(at)).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0000));
  note(std::to_string(depth) + " levels");
  ::chmod(".", 0000);
}

}  // namespace hostile
