#include "support/windows_box.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

namespace scripted {
namespace {

// As Windows says of a program that was told to end, of one that is not there, and of one that was ended.
constexpr std::int64_t told_to_end = 0xC000013A;
constexpr std::int64_t not_found = 0xC0000135;
constexpr std::int64_t ended_by_force = 0xFFFFFFFF;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& each : texts)
    all.push_back(each.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

Box::Box(std::string id, Wanted wanted, std::string disk)
    : id_(std::move(id)), wanted_(std::move(wanted)), disk_(std::move(disk)) {}

Box::~Box() {
  {
    const std::lock_guard lock(mutex_);
    if (pid_ > 0)
      ::kill(-pid_, SIGKILL);
    else if (state_ == State::running)
      end(ended_by_force);
  }
  if (reaper_.joinable()) reaper_.join();
}

Box::State Box::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::int64_t Box::exit_code() const {
  const std::lock_guard lock(mutex_);
  return exit_code_;
}

std::string Box::native(const std::string& path) const {
  std::string out = path.starts_with("C:\\") ? disk_ + '/' + path.substr(3) : path;
  std::replace(out.begin(), out.end(), '\\', '/');
  return out;
}

bool Box::start() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::running) return false;
  state_ = State::running;
  std::vector<std::string> words = wanted_.entrypoint;
  words.insert(words.end(), wanted_.command.begin(), wanted_.command.end());
  const bool bootstrap = !words.empty() && words.front().ends_with("rmgr-bootstrap.exe");
  if (!bootstrap)
    run(words, "");
  else if (!std::filesystem::exists(native(words.front())))
    end(not_found);
  changed_.notify_all();
  return true;
}

bool Box::take(const std::string& line) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ != State::created; });
  if (state_ != State::running) return false;
  if (line.empty() || line.back() != '\n') {
    end(70);
    return false;
  }
  run(wanted_.command, line.substr(0, line.size() - 1));
  return state_ == State::running;
}

void Box::run(const std::vector<std::string>& given, const std::string& jit) {
  std::vector<std::string> words = given;
  words.front() = native(words.front());
  std::vector<std::string> environment = wanted_.environment;
  for (const char* each : {"PATH=/usr/local/bin:/usr/bin:/bin", "RUNNER_ALLOW_RUNASROOT=1"})
    environment.emplace_back(each);
  environment.push_back("HOME=" + disk_);
  environment.push_back("TMPDIR=" + disk_);
  if (!jit.empty()) environment.push_back("ACTIONS_RUNNER_INPUT_JITCONFIG=" + jit);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  for (const int stream : {0, 1, 2})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", stream == 0 ? 0 : 1, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawn_file_actions_addchdir_np(&actions, disk_.c_str());
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  const int failure = ::posix_spawn(&pid_, words.front().c_str(), &actions, &attributes,
                                    pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    pid_ = -1;
    end(not_found);
    return;
  }
  reaper_ = std::thread([this, pid = pid_] {
    // The number stays taken until it is reaped with the lock held, so nobody signals a stranger.
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    ::kill(-pid, SIGKILL);  // a container's end is the end of all that is in it
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid_ = -1;
    end(WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) == SIGKILL ? ended_by_force : told_to_end);
  });
}

void Box::end(std::int64_t code) {
  state_ = State::exited;
  exit_code_ = code;
  changed_.notify_all();
}

bool Box::signal(int number) {
  const std::lock_guard lock(mutex_);
  if (state_ != State::running) return false;
  if (pid_ > 0)
    ::kill(-pid_, number);
  else
    end(number == SIGKILL ? ended_by_force : told_to_end);
  return true;
}

void Box::discard() {
  signal(SIGKILL);
  wait();
  const std::lock_guard lock(mutex_);
  if (state_ == State::created) end(ended_by_force);
}

void Box::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ != State::running; });
}

}  // namespace scripted
