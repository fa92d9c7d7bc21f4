#include "runner/signals.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace emulator::runner {

SignalFd::SignalFd() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD})
    sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

SignalFd::~SignalFd() {
  if (fd_ >= 0) ::close(fd_);
}

int SignalFd::next(int wait_ms) {
  pollfd set{fd_, POLLIN, 0};
  if (::poll(&set, 1, wait_ms) <= 0) return 0;
  signalfd_siginfo info{};
  while (::read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo != SIGCHLD) return static_cast<int>(info.ssi_signo);
  }
  return 0;
}

pid_t launch(const Launch& wanted) {
  const std::string program = wanted.program.string();
  std::vector<std::string> words{program};
  words.insert(words.end(), wanted.arguments.begin(), wanted.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  if (!wanted.keeps_signals_blocked) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  if (!wanted.directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, wanted.directory.c_str());
  if (wanted.passed_from >= 0) posix_spawn_file_actions_adddup2(&actions, wanted.passed_from, 3);
  if (!wanted.output.empty()) {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, wanted.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
  }
  pid_t child = -1;
  if (::posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environ) != 0) child = -1;
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return child;
}

std::optional<int> reap(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace emulator::runner
