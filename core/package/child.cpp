#include "package/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>

#include "package/files.hpp"
#include "package/tree.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

using Clock = std::chrono::steady_clock;

struct Actions {
  posix_spawn_file_actions_t files{};
  posix_spawnattr_t attributes{};
  Actions() {
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
  }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
};

int start(const std::string& program, const std::vector<std::string>& arguments, int output, pid_t& child) {
  Actions actions;
  posix_spawn_file_actions_addopen(&actions.files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.files, output, 1);
  posix_spawn_file_actions_addopen(&actions.files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions.files, 3);
  posix_spawn_file_actions_addchdir_np(&actions.files, "/");
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&actions.attributes, &none);
  posix_spawnattr_setsigdefault(&actions.attributes, &all);
  posix_spawnattr_setpgroup(&actions.attributes, 0);
  posix_spawnattr_setflags(&actions.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string path = "PATH=/usr/bin:/bin";
  std::array<char*, 2> environment{path.data(), nullptr};
  return ::posix_spawn(&child, program.c_str(), &actions.files, &actions.attributes, argv.data(),
                       environment.data());
}

// Reads until the child closes its end; false when the time is over or somebody cancelled.
bool read_output(int pipe, std::string& text, Clock::time_point until, const Cancelled& cancelled) {
  std::array<char, 512> buffer{};
  while (Clock::now() < until && !asked(cancelled)) {
    pollfd poll{pipe, POLLIN, 0};
    if (::poll(&poll, 1, 50) <= 0) continue;
    const auto got = ::read(pipe, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (text.size() < 4096) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return false;
}

// Polls, because a child that closed its output early must not be waited for past the limit.
bool wait_for(pid_t child, int& status, Clock::time_point until, const Cancelled& cancelled) {
  while (true) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno != EINTR) return true;
    if (Clock::now() >= until || asked(cancelled)) return false;
    ::poll(nullptr, 0, 5);
  }
}

std::string first_line(std::string text) {
  text.resize(std::min({text.size(), text.find('\n'), std::size_t{200}}));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return text;
}

}  // namespace

Result<ChildEnd> run_child(const std::string& program, const std::vector<std::string>& arguments,
                           domain::Millis limit, const Cancelled& cancelled) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot start the unpacking program", errno);
  const Fd output(ends[0]);
  Fd input(ends[1]);
  pid_t child = -1;
  const int error = start(program, arguments, input.get(), child);
  if (error != 0) return system_error("cannot start the unpacking program " + program, error);
  input = Fd();
  const auto until = Clock::now() + limit;
  ChildEnd end;
  std::string text;
  int status = 0;
  if (!read_output(output.get(), text, until, cancelled) || !wait_for(child, status, until, cancelled)) {
    end.late = Clock::now() >= until;
    ::kill(-child, SIGKILL);
    ::kill(child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!end.late) return cancelled_error();
    return end;
  }
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  end.line = first_line(std::move(text));
  return end;
}

namespace {

Result<Unpacked> read_answer(const ChildEnd& end) {
  if (end.late) return Error{ErrorCode::retry, "unpacking the runner package took too long and was stopped"};
  std::string_view line = end.line;
  const auto word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  if (end.exit_code == kUnpackUnsafe && word == "unsafe") {
    return Error{ErrorCode::invalid,
                 "the archive of the runner package is unsafe and was not installed: " + std::string(line)};
  }
  if (end.exit_code == kUnpackFailed && word == "failed") {
    return Error{line == "full" ? ErrorCode::full : ErrorCode::retry,
                 line == "full" ? "unpacking the runner package failed: no space is left in the package cache"
                                : "unpacking the runner package failed"};
  }
  Unpacked unpacked;
  const auto* const finish = line.data() + line.size();
  const auto entries = std::from_chars(line.data(), finish, unpacked.entries);
  if (end.exit_code == 0 && word == "unpacked" && entries.ec == std::errc{} && entries.ptr != finish &&
      std::from_chars(entries.ptr + 1, finish, unpacked.bytes).ec == std::errc{}) {
    return unpacked;
  }
  return Error{ErrorCode::retry, "the unpacking program ended without a result (exit code " +
                                     std::to_string(end.exit_code) + ")"};
}

}  // namespace

Result<Unpacked> unpack_in_child(const std::string& program, const std::string& archive,
                                 const std::string& destination, const UnpackLimits& limits,
                                 domain::Millis limit, const Cancelled& cancelled) {
  const auto directory = open_directory(destination);
  if (!directory) return directory.error();
  const bool root = ::geteuid() == 0;
  const uid_t account = root ? kUnpackAccount : ::geteuid();
  if (root && ::fchown(directory->get(), kUnpackAccount, kUnpackAccount) != 0) {
    return system_error("cannot prepare the unpacking of the runner package", errno);
  }
  const auto end =
      run_child(program,
                {archive, destination, std::to_string(limits.entries), std::to_string(limits.bytes),
                 std::to_string(limits.ratio), std::to_string(kUnpackAccount)},
                limit, cancelled);
  if (root && ::fchown(directory->get(), ::geteuid(), ::getegid()) != 0) {
    return system_error("cannot take over the unpacked runner package", errno);
  }
  if (!end) return end.error();
  auto unpacked = read_answer(*end);
  if (!unpacked) return unpacked;
  auto taken =
      take_ownership(directory->get(), account, TreeLimits{limits.entries * 2, limits.bytes}, cancelled);
  if (!taken) return taken.error();
  return unpacked;
}

}  // namespace agent::package
