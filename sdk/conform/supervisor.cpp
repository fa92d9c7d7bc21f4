// The supervisor of one held child. It waits at its standard input for what to run and then for the secret;
// without a secret nothing runs. When the child has ended, so does everything that it left behind, and the
// directory then holds its exit record.
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "conform/host.hpp"
#include "conform/json.hpp"
#include "conform/processes.hpp"

namespace rmgr::conform {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t most_frame = 4U << 20U;

bool read_all(int fd, char* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool read_frame(std::string& out) {
  std::uint32_t size = 0;
  if (!read_all(0, reinterpret_cast<char*>(&size), sizeof size) || size > most_frame) return false;
  out.resize(size);
  return read_all(0, out.data(), size);
}

void say(const std::string& line) { (void)!::write(1, line.data(), line.size()); }

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts)
    out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> texts_of(const Json& array) {
  std::vector<std::string> out;
  for (const Json& one : array.items())
    out.push_back(one.as_text());
  return out;
}

bool become(std::int64_t uid, std::int64_t gid) {
  if (gid >= 0 && (::setgroups(0, nullptr) != 0 || ::setgid(static_cast<gid_t>(gid)) != 0)) return false;
  return uid < 0 || ::setuid(static_cast<uid_t>(uid)) == 0;
}

// Answers the child once it executes, or -1.
pid_t launch(const Json& spec, std::string secret) {
  std::vector<std::string> arguments = texts_of(spec.at("argv"));
  std::vector<std::string> variables = texts_of(spec.at("environment"));
  variables.push_back(std::move(secret));
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> environment = pointers(variables);
  std::array<int, 2> failed{};
  if (::pipe2(failed.data(), O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setsid();
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3; ++fd)
      ::dup2(null, fd);
    if (::chdir(spec.at("directory").as_text().c_str()) == 0 &&
        become(spec.at("uid").as_integer(), spec.at("gid").as_integer()))
      ::execve(argv[0], argv.data(), environment.data());
    (void)!::write(failed[1], "x", 1);
    ::_exit(127);
  }
  ::close(failed[1]);
  char mark = 0;
  const bool executes = pid > 0 && ::read(failed[0], &mark, 1) == 0;
  ::close(failed[0]);
  for (std::string& text : variables)
    std::fill(text.begin(), text.end(), '\0');
  if (pid > 0 && !executes) ::waitpid(pid, nullptr, 0);
  return executes ? pid : -1;
}

// Until the child has ended; answers its wait status.
int watch(pid_t child, int signals) {
  while (true) {
    int status = 0;
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (reaped == child) return status;
    }
    signalfd_siginfo info{};
    if (::read(signals, &info, sizeof info) != sizeof info) continue;
    if (info.ssi_signo == SIGTERM) ::kill(-child, SIGTERM);
    if (info.ssi_signo == SIGUSR1) ::kill(-child, SIGKILL);
  }
}

void record(const fs::path& directory, int status) {
  const fs::path fresh = directory / "exit.new";
  std::ofstream(fresh) << (WIFEXITED(status) ? WEXITSTATUS(status) : 0) << ' '
                       << (WIFSIGNALED(status) ? WTERMSIG(status) : 0) << '\n';
  std::error_code ignored;
  fs::rename(fresh, directory / "exit", ignored);
}

}  // namespace

int supervise(const std::string& directory) {
  if (::fork() != 0) return 0;
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_DUMPABLE, 0);  // a job of this account must not read the secret here
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGTERM, SIGUSR1, SIGCHLD, SIGHUP, SIGINT, SIGPIPE})
    sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  sigset_t heard;
  sigemptyset(&heard);
  for (const int number : {SIGTERM, SIGUSR1, SIGCHLD})
    sigaddset(&heard, number);
  const int signals = ::signalfd(-1, &heard, SFD_CLOEXEC);
  std::string frame;
  const auto spec = read_frame(frame) ? Json::parse(frame) : std::nullopt;
  if (!spec) return 1;
  say("held " + std::to_string(::getpid()) + "\n");
  std::array<pollfd, 2> waiting{pollfd{0, POLLIN, 0}, pollfd{signals, POLLIN, 0}};
  if (::poll(waiting.data(), waiting.size(), 30'000) <= 0 || waiting[1].revents != 0 || !read_frame(frame))
    return 0;
  std::ofstream(directory + "/released") << '\n';
  const pid_t child = launch(*spec, std::move(frame));
  if (child < 0) {
    ::unlink((directory + "/released").c_str());
    say("failed\n");
    return 1;
  }
  say("started\n");
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(null, 1);
  const int status = watch(child, signals);
  end_children();
  record(directory, status);
  return 0;
}

}  // namespace rmgr::conform
