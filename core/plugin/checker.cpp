#include "plugin/checker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers) kill
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "plugin/report.hpp"
#include "plugin/text.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_printed = 512;
constexpr int first_free = 10;  // above every descriptor that a child is given

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { close(); }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  // Out of the range into which a child's descriptors are copied one after the other.
  bool lift() {
    if (fd_ < 0 || fd_ >= first_free) return fd_ >= 0;
    *this = Fd(::fcntl(fd_, F_DUPFD_CLOEXEC, first_free));
    return fd_ >= 0;
  }

 private:
  int fd_ = -1;
};

// The text as a file that ends; none if there is none to be had.
Fd input_of(const std::string& text) {
  Fd file(::memfd_create("plugin-configuration", MFD_CLOEXEC));
  if (file.get() < 0) return file;
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t put = ::write(file.get(), text.data() + written, text.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return {};
    written += static_cast<std::size_t>(put);
  }
  return ::lseek(file.get(), 0, SEEK_SET) == 0 ? std::move(file) : Fd();
}

// Both ends of what connects a child with us.
struct Channels {
  Fd input, report, reported, output, printed;  // of the child: input, report, output

  bool open(const std::string& input_text, const std::string& word) {
    input = input_of(input_text);
    std::array<int, 2> pair{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return false;
    reported = Fd(pair[0]);
    report = Fd(pair[1]);
    if (::pipe2(pair.data(), O_CLOEXEC) != 0) return false;
    printed = Fd(pair[0]);
    output = Fd(pair[1]);
    if (!input.lift() || !report.lift() || !output.lift()) return false;
    if (::fcntl(printed.get(), F_SETFL, O_NONBLOCK) != 0) return false;
    // It waits in the socket for the child, so that nothing of a plugin can be there first.
    return ::send(reported.get(), word.data(), word.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(word.size());
  }
  void close_childs() {
    input.close();
    report.close();
    output.close();
  }
};

// A child with nothing of ours but the configuration, the two channels, and the environment, in which its
// secrets may be.
Result<pid_t> spawn(std::vector<std::string> words, const Channels& channels) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channels.input.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channels.output.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channels.output.get(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channels.report.get(), report_descriptor);
  posix_spawn_file_actions_addclosefrom_np(&actions, report_descriptor + 1);
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

// Reads what is there, a little at a time; false once nothing more can come.
bool read_report(int socket, ReportReader& report) {
  std::array<char, 16 * 1024> buffer{};
  const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got > 0) report.take({buffer.data(), static_cast<std::size_t>(got)});
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// Only the end of it is kept.
bool read_printed(int pipe, std::string& printed) {
  std::array<char, 16 * 1024> buffer{};
  const ssize_t got = ::read(pipe, buffer.data(), buffer.size());
  if (got > 0) printed.append(buffer.data(), static_cast<std::size_t>(got));
  if (printed.size() > most_printed) printed.erase(0, printed.size() - most_printed);
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// What came of a child.
struct Heard {
  ReportReader report;
  std::string printed;
  bool in_time = false;
  int status = 0;
};

// Listens until the child has ended, not until nobody holds its channels any more: what it left behind may
// hold them for ever. False if its time is up.
bool listen(const Channels& channels, int child, Clock::time_point until, Heard& heard) {
  std::array<pollfd, 3> waiting{pollfd{channels.reported.get(), POLLIN, 0},
                                pollfd{channels.printed.get(), POLLIN, 0}, pollfd{child, POLLIN, 0}};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left)) < 0 && errno != EINTR) return false;
    // A channel that has come to its end would be ready at once, again and again.
    if (waiting[0].revents != 0 && !read_report(waiting[0].fd, heard.report)) waiting[0].fd = -1;
    if (waiting[1].revents != 0 && !read_printed(waiting[1].fd, heard.printed)) waiting[1].fd = -1;
    if (waiting[2].revents != 0) return true;
  }
}

// The rest, of which there is no more than the channels hold.
void read_rest(const Channels& channels, Heard& heard) {
  constexpr int most_reads = 64;
  std::array<pollfd, 1> waiting{pollfd{channels.reported.get(), POLLIN, 0}};
  for (int i = 0; i<most_reads&& ::poll(waiting.data(), 1, 0)> 0; ++i) {
    if (!read_report(channels.reported.get(), heard.report)) break;
  }
  waiting[0].fd = channels.printed.get();
  for (int i = 0; i<most_reads&& ::poll(waiting.data(), 1, 0)> 0; ++i) {
    if (!read_printed(channels.printed.get(), heard.printed)) break;
  }
}

// Ends the child, also one that left its group, and whatever it started; its status. Until it is reaped its
// number is nobody else's.
int end_child(pid_t pid) {
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

std::string ending(int status) {
  return WIFSIGNALED(status) ? "(signal " + std::to_string(WTERMSIG(status)) + ")"
                             : "(exit code " + std::to_string(WEXITSTATUS(status)) + ")";
}

// Told only as long as nothing of the configuration has reached the plugin: what it prints later may hold a
// secret.
std::string said_by(const Heard& heard) {
  if (heard.report.begun() && heard.report.stage() != stage_loading) return "";
  const std::string line = one_line(heard.printed, most_printed);
  const std::size_t from = line.find_first_not_of("? ");
  return from == std::string::npos
             ? ""
             : ", having printed \"" + line.substr(from, line.find_last_not_of("? ") + 1 - from) + "\"";
}

// Why a child did not go through all of it.
Error failure_of(const std::string& program, const Heard& heard) {
  const ReportReader& report = heard.report;
  if (!report.begun() && !report.damaged()) {
    const std::string who = "The program " + program + " that checks plugins ";
    if (!heard.in_time)
      return {ErrorCode::retry, who + "took too long to begin" + said_by(heard) + "; try again.", {}};
    return {ErrorCode::internal,
            who + "ended before it began " + ending(heard.status) + said_by(heard) +
                "; install the package anew.",
            {}};
  }
  const auto at_fault = [&](const std::string& what) {
    const std::string step = report.begun() ? report.stage() : "Starting the check of it";
    return Error{ErrorCode::invalid, step + " " + what + said_by(heard) + "; report it to its vendor.", {}};
  };
  if (!heard.in_time) return at_fault("took too long in a child process");
  if (report.damaged()) return at_fault("damaged the report of its check");
  if (WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == check_refused && !report.refusal().empty())
    return {ErrorCode::invalid, report.refusal(), {}};
  return at_fault("ended a child process " + ending(heard.status));
}

// The schemas that a child told, if it was asked for them and ends well.
Result<std::string> hear_child(const std::string& program, std::vector<std::string> words,
                               const std::string& input_text, std::chrono::milliseconds patience) {
  const Clock::time_point until = Clock::now() + patience;
  const auto not_now = [](int error) {
    return Error{
        ErrorCode::retry, std::string("A plugin cannot be checked now (") + std::strerror(error) + ").", {}};
  };
  const std::string word = draw_word();
  Channels channels;
  if (word.empty() || !channels.open(input_text, word)) return not_now(errno);
  words.insert(words.begin(), {program, report_option});
  const Result<pid_t> pid = spawn(std::move(words), channels);
  if (!pid) return pid.error();
  channels.close_childs();
  const Fd child(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (child.get() < 0) {
    const Error error = not_now(errno);
    end_child(*pid);
    return error;
  }
  Heard heard{.report = ReportReader(word), .printed = {}};
  heard.in_time = listen(channels, child.get(), until, heard);
  heard.status = end_child(*pid);
  read_rest(channels, heard);
  if (heard.in_time && WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 0 && heard.report.done())
    return heard.report.schemas();
  return failure_of(program, heard);
}

}  // namespace

Result<void> check_in_child(const ChildCheck& check) {
  const Result<std::string> said =
      hear_child(check.program, {check.library, check.plugin, check.interface, check.instance},
                 check.config_json, check.patience);
  return said ? Result<void>() : Result<void>(said.error());
}

Result<std::string> schemas_in_child(const std::string& program, const std::string& library,
                                     const std::string& plugin, std::chrono::milliseconds patience) {
  return hear_child(program, {library, plugin, "--schemas"}, "", patience);
}

}  // namespace agent::plugin
