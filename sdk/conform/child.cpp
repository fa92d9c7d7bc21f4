#include "conform/child.hpp"
#include "conform/files.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "conform/operation.hpp"
#include "conform/processes.hpp"

namespace rmgr::conform {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t most_output = 64 * 1024;
constexpr int result_fd = 3;
constexpr std::string_view next_phase = "next";

// The marker of every secret that the suite gives away; see attempt.hpp.
constexpr std::string_view needle = "conform-needle-";

std::atomic<bool> delivered{false};
bool in_child = false;

void send(std::string_view word, const std::string& reason) {
  if (delivered.exchange(true)) return;
  const std::string line = Json::object()
                               .set("status", Json::text(word))
                               .set("reason", Json::text(printable(reason, 2000)))
                               .dump() +
                           "\n";
  (void)!::write(result_fd, line.data(), line.size());
}

Outcome judge(const Test& test, Context& context) {
  try {
    return {Status::success, test.run(context)};
  } catch (const Stop& stop) {
    return stop.outcome;
  } catch (const std::exception& defect) {
    return {Status::failed, std::string("The suite itself failed here: ") + defect.what() + "."};
  }
}

struct Pipe {
  int reader = -1;
  int writer = -1;
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
      reader = ends[0];
      writer = ends[1];
    }
  }
  ~Pipe() {
    if (reader >= 0) ::close(reader);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_writer() {
    if (writer >= 0) ::close(writer);
    writer = -1;
  }
};

pid_t start(const std::vector<std::string>& words, const Pipe& result, const Pipe& output) {
  std::vector<char*> argv;
  for (const std::string& word : words)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  const int saved = ::fcntl(result.writer, F_DUPFD_CLOEXEC, 10);
  ::dup2(output.writer, 1);
  ::dup2(output.writer, 2);
  ::dup2(saved, result_fd);
  ::close_range(4, ~0U, 0);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

// Appends what can be read now; false at the end.
bool take(int fd, std::string& to) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got <= 0) return got < 0 && errno == EINTR;
  if (to.size() < most_output) to.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

struct Ended {
  bool in_time = true;
  int status = 0;
  std::string result;
};

// Until the child has ended or its time is up. What it leaves behind may hold the pipes, so their end is not
// waited for.
Ended attend(pid_t pid, int seconds, const Pipe& result, const Pipe& output, std::string& printed) {
  Ended ended;
  const auto until = Clock::now() + std::chrono::seconds(seconds);
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  std::array<pollfd, 3> waiting{pollfd{handle, POLLIN, 0}, pollfd{result.reader, POLLIN, 0},
                                pollfd{output.reader, POLLIN, 0}};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) {
      ended.in_time = false;
      ::kill(-pid, SIGKILL);
      ::kill(pid, SIGKILL);
      break;
    }
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(left)) <= 0) continue;
    if (waiting[1].revents != 0 && !take(result.reader, ended.result)) waiting[1].fd = -1;
    if (waiting[2].revents != 0 && !take(output.reader, printed)) waiting[2].fd = -1;
    if (waiting[0].revents != 0) break;
  }
  ::close(handle);
  for (const auto& [fd, to] : {std::pair{result.reader, &ended.result}, std::pair{output.reader, &printed}}) {
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 64 && take(fd, *to); ++i) {
    }
  }
  while (::waitpid(pid, &ended.status, 0) < 0 && errno == EINTR) {
  }
  ::kill(-pid, SIGKILL);
  return ended;
}

std::string how(int status) {
  if (WIFSIGNALED(status))
    return "signal " + std::to_string(WTERMSIG(status)) + ", " + ::strsignal(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

std::string last_line(const std::string& printed) {
  std::string text = printed.substr(0, printed.find_last_not_of('\n') + 1);
  text = text.substr(text.find_last_of('\n') + 1);
  return text.empty() ? "" : "; it last printed: " + printable(text, 200);
}

Outcome outcome_of(const Test& test, const Ended& ended, int seconds, const std::string& printed) {
  if (!ended.in_time)
    return {Status::failed, "It did not end within " + std::to_string(seconds) + " s and was killed."};
  const auto said = Json::parse(ended.result);
  const bool died = WIFSIGNALED(ended.status) || (test.ends_normally && WEXITSTATUS(ended.status) != 0);
  if (!said || died)
    return {Status::crashed, "It ended the process (" + how(ended.status) + ")" +
                                 (said ? " after it had succeeded" : "") + last_line(printed) + "."};
  const std::string word = said->at("status").as_text();
  for (const Status status : {Status::success, Status::failed, Status::skipped, Status::warning}) {
    if (word == to_string(status)) return {status, said->at("reason").as_text()};
  }
  return {Status::crashed, "It ended without a result."};
}

bool wants_next(const Ended& ended) {
  const auto said = Json::parse(ended.result);
  return ended.in_time && said && said->at("status").as_text() == next_phase;
}

}  // namespace

void deliver(const Outcome& outcome) { send(to_string(outcome.status), outcome.reason); }

void fail_now(const std::string& reason) {
  deliver({Status::failed, reason});
  ::_exit(0);
}

void die() {
  if (!in_child) skip("It needs a process that can be killed, so it does not run with --in-process.");
  send(next_phase, "");
  ::kill(::getpid(), SIGKILL);
  std::abort();
}

Run run_in_child(const Plan& plan, const Test& test, const std::string& interface,
                 const std::string& scratch) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::ofstream(scratch + "/plan.json") << plan.to_json().dump();
  Run run;
  const auto began = Clock::now();
  for (int phase = 0; phase < test.phases; ++phase) {
    const Pipe result;
    const Pipe output;
    const pid_t pid =
        start({plan.program, "--child", scratch, std::string(test.id), interface, std::to_string(phase)},
              result, output);
    if (pid < 0) {
      run.outcome = {Status::failed, "No process could be started for it."};
      break;
    }
    const Ended ended = attend(pid, plan.seconds, result, output, run.output);
    if (phase + 1 < test.phases && wants_next(ended)) continue;
    run.outcome = outcome_of(test, ended, plan.seconds, run.output);
    break;
  }
  end_children();
  run.milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began).count();
  const bool good = run.outcome.status == Status::success || run.outcome.status == Status::warning;
  if (good && test.silent && !run.output.empty())
    run.outcome = {Status::failed, "It printed " + std::to_string(run.output.size()) +
                                       " bytes on standard output or error, which belong to the host."};
  if (run.output.find(needle) != std::string::npos)
    run.outcome = {Status::failed, "It printed a secret on standard output or error."};
  return run;
}

Run run_here(const Plan& plan, const Test& test, const std::string& interface, const std::string& scratch) {
  Context context{plan, interface, scratch, 0};
  const auto began = Clock::now();
  Run run;
  run.outcome = judge(test, context);
  run.milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began).count();
  return run;
}

int child_main(const std::vector<std::string>& words) {
  if (words.size() != 4) return 2;
  in_child = true;
  ::fcntl(result_fd, F_SETFD, FD_CLOEXEC);
  const auto json = Json::parse(read_file(words[0] + "/plan.json").value_or(""));
  if (!json) return 2;
  const Plan plan = Plan::from_json(*json);
  const auto& tests = all_tests();
  const auto test =
      std::find_if(tests.begin(), tests.end(), [&](const Test& one) { return one.id == words[1]; });
  if (test == tests.end()) return 2;
  Context context{plan, words[2], words[0], std::atoi(words[3].c_str())};
  const Outcome outcome = judge(*test, context);
  deliver(outcome);
  // Otherwise static destructors of a plugin with a defect would spoil every test.
  if (!test->ends_normally) ::_exit(0);
  return 0;
}

}  // namespace rmgr::conform
