#include "plugin/checker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers) kill
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "plugin/text.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_output = 2 * 1024 * 1024;

class Pipe {
 public:
  Pipe() { opened_ = ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
  ~Pipe() {
    close_writer();
    if (opened_) ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] bool opened() const { return opened_; }
  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() {
    if (opened_ && ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  bool opened_ = false;
};

// The text as a file that ends; -1 if there is none to be had.
int input_of(const std::string& text) {
  const int fd = ::memfd_create("plugin-configuration", MFD_CLOEXEC);
  if (fd < 0) return -1;
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t put = ::write(fd, text.data() + written, text.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) break;
    written += static_cast<std::size_t>(put);
  }
  if (written == text.size() && ::lseek(fd, 0, SEEK_SET) == 0) return fd;
  ::close(fd);
  return -1;
}

// A child with nothing of ours but the configuration, the end of the pipe as standard output and error, and
// the environment, in which its secrets may be.
Result<pid_t> spawn(std::vector<std::string> words, int input, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return Error{ErrorCode::internal,
                 "The program " + words[0] + " that checks plugins cannot be started (" +
                     std::strerror(failed) + "); install the package anew.",
                 {}};
  return pid;
}

// What the child prints until it closes its end or the time is up; false in the second case.
bool drain(int reader, Clock::time_point until, std::string& output) {
  std::array<char, 1024> buffer{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{reader, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = ::read(reader, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    if (output.size() < most_output) output.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// The status of a child that ended, or that is ended now because its time is up.
int reap(pid_t pid, bool ended_by_itself, Clock::time_point until) {
  int status = 0;
  while (ended_by_itself && Clock::now() < until) {
    const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
    if (reaped == pid) return status;
    if (reaped < 0 && errno != EINTR) return -1;
    ::poll(nullptr, 0, 5);
  }
  ::kill(-pid, SIGKILL);
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

// What a child said: the step that it was at, and its sentence.
struct Report {
  std::string stage = "Starting the check of it";
  std::string text;
};

Report read_report(const std::string& output) {
  Report report;
  std::size_t at = 0;
  while (at < output.size()) {
    const std::size_t end = std::min(output.find('\n', at), output.size());
    if (output[at] == stage_mark)
      report.stage = one_line(output.substr(at + 1, end - at - 1), 100);
    else
      report.text.append(output, at, end - at).append("\n");
    at = end + 1;
  }
  return report;
}

Error at_fault(const std::string& what) {
  return {ErrorCode::invalid, what + "; report it to its vendor.", {}};
}

// What a child says that ends well; otherwise where it came to its end, or its sentence.
Result<std::string> hear_child(std::vector<std::string> words, const std::string& input_text,
                               std::chrono::milliseconds patience) {
  const Clock::time_point until = Clock::now() + patience;
  Pipe pipe;
  const int input = input_of(input_text);
  if (!pipe.opened() || input < 0) {
    const Error error{
        ErrorCode::retry, std::string("A plugin cannot be checked now (") + std::strerror(errno) + ").", {}};
    if (input >= 0) ::close(input);
    return error;
  }
  const Result<pid_t> pid = spawn(std::move(words), input, pipe.writer());
  ::close(input);
  if (!pid) return pid.error();
  pipe.close_writer();
  std::string output;
  const bool closed = drain(pipe.reader(), until, output);
  const int status = reap(*pid, closed, until);
  Report report = read_report(output);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && report.stage == stage_done)
    return std::move(report.text);
  if (!closed) return at_fault(report.stage + " took too long in a child process");
  if (WIFSIGNALED(status)) {
    return at_fault(report.stage + " ended a child process (signal " + std::to_string(WTERMSIG(status)) +
                    ")");
  }
  if (WEXITSTATUS(status) == check_refused && !report.text.empty())
    return Error{ErrorCode::invalid, one_line(report.text.substr(0, report.text.find('\n')), 1000), {}};
  return at_fault(report.stage + " ended a child process (exit code " + std::to_string(WEXITSTATUS(status)) +
                  ")");
}

}  // namespace

Result<void> check_in_child(const ChildCheck& check) {
  const Result<std::string> said =
      hear_child({check.program, check.library, check.plugin, check.interface, check.instance},
                 check.config_json, check.patience);
  return said ? Result<void>() : Result<void>(said.error());
}

Result<std::string> schemas_in_child(const std::string& program, const std::string& library,
                                     const std::string& plugin, std::chrono::milliseconds patience) {
  return hear_child({program, library, plugin, "--schemas"}, "", patience);
}

}  // namespace agent::plugin
