#include "runner/listener.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "wire/text.hpp"

namespace emulator::runner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFirstBackOff = 100;
constexpr int kLongestBackOff = 5'000;
constexpr int kConflictTries = 4;
constexpr int kConflictPause = 250;
constexpr auto kWorkerGrace = std::chrono::seconds(8);
constexpr int kReportTries = 40;
constexpr int kNotYoursPause = 200;

void say(const std::string& line) { std::cout << line << std::endl; }

void say_at(const std::string& line) {
  std::string when = iso_time(wall_clock_ms());
  std::replace(when.begin(), when.end(), 'T', ' ');
  say(when + ": " + line);
}

std::string shown(int worker_exit) {
  if (worker_exit == kWorkerExitBase + static_cast<int>(JobResult::succeeded)) return "Succeeded";
  return worker_exit == kWorkerExitBase + static_cast<int>(JobResult::cancelled) ? "Canceled" : "Failed";
}

std::string conclusion(int worker_exit) {
  if (worker_exit == kWorkerExitBase + static_cast<int>(JobResult::succeeded)) return "success";
  return worker_exit == kWorkerExitBase + static_cast<int>(JobResult::cancelled) ? "cancelled" : "failure";
}

}  // namespace

Listener::Listener(std::filesystem::path root, Identity identity, DiagnosticLog& log, std::int64_t exec_at_ms)
    : root_(std::move(root)),
      identity_(std::move(identity)),
      log_(log),
      exec_at_ms_(exec_at_ms),
      link_(identity_.server_url, identity_.token, signals_.fd()) {}

int Listener::run() {
  if (!link_.usable()) {
    std::cerr << "The server's address is not usable." << std::endl;
    return exit_code::terminated;
  }
  if (const int code = open_session(); code != exit_code::success || stop_signal_ != 0) return code;
  say("Current runner version: '" + version() + "'");
  say_at("Listening for Jobs");
  log_.log("Listener", "the session is open");
  return wait_for_jobs();
}

int Listener::open_session() {
  int conflicts = 0;
  for (int back_off = kFirstBackOff;; back_off = std::min(back_off * 2, kLongestBackOff)) {
    switch (link_.open_session(version(), exec_at_ms_)) {
      case SessionResult::opened: say("Connected to GitHub"); return exit_code::success;
      case SessionResult::refused:
        std::cerr << "Failed to create a session. The registration was used or removed." << std::endl;
        return exit_code::terminated;
      case SessionResult::deprecated:
        std::cerr << "An error occurred: this runner version is deprecated." << std::endl;
        return is_true(std::getenv("ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE"))
                   ? exit_code::version_deprecated
                   : exit_code::terminated;
      case SessionResult::conflict:
        if (++conflicts >= kConflictTries) {
          std::cerr << "A session for this runner already exists." << std::endl;
          return exit_code::session_conflict;
        }
        back_off = kConflictPause / 2;
        break;
      case SessionResult::try_again:
      case SessionResult::interrupted: break;
    }
    if (!pause(back_off)) return stopped_code();
  }
}

int Listener::wait_for_jobs() {
  int back_off = kFirstBackOff;
  while (true) {
    std::string job;
    const auto result = link_.poll(job);
    if (result != PollResult::try_again) back_off = kFirstBackOff;
    switch (result) {
      case PollResult::job:
        if (const auto code = take_job(job)) return *code;
        if (!pause(kNotYoursPause)) break;
        continue;
      case PollResult::update:
        say_at("Runner update in progress, do not shutdown runner.");
        link_.close_session();
        return identity_.ephemeral ? exit_code::once_updating : exit_code::updating;
      case PollResult::lost:
        std::cerr << "The runner registration has been deleted from the server." << std::endl;
        return exit_code::terminated;
      case PollResult::try_again:
        if (pause(back_off)) {
          back_off = std::min(back_off * 2, kLongestBackOff);
          continue;
        }
        break;
      case PollResult::interrupted:
        if (pause(0)) continue;
        break;
      case PollResult::nothing: continue;
    }
    say("Exiting...");
    link_.close_session();
    return stopped_code();
  }
}

std::optional<int> Listener::take_job(const std::string& json) {
  auto job = parse_job(json);
  if (!job) return std::nullopt;
  std::optional<bool> accepted;
  for (int back_off = kFirstBackOff; !(accepted = link_.accept(job->id)).has_value();
       back_off = std::min(back_off * 2, kLongestBackOff)) {
    if (!pause(back_off)) return stopped_code();
  }
  if (!*accepted) {
    log_.log("Listener", "Skipping message Job. Job message not found");
    return std::nullopt;
  }
  const int code = run_worker(std::move(*job));
  if (stop_signal_ != 0) return stopped_code();
  return identity_.ephemeral ? std::optional(code) : std::nullopt;
}

int Listener::run_worker(JobMessage job) {
  job.server_url = identity_.server_url;
  job.work_folder = identity_.work_folder;
  say_at("Running job: " + job.name);
  log_.log("JobDispatcher", "job " + std::to_string(job.id) + " goes to a worker");
  std::array<int, 2> ends{};
  int worker_exit = 1;
  int script_exit = -1;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0) {
    const pid_t worker = launch({.program = root_ / "bin" / "Runner.Worker",
                                 .arguments = {"spawnclient", "3", "3"},
                                 .directory = root_,
                                 .keeps_signals_blocked = true,
                                 .passed_from = ends[1],
                                 .output = {}});
    ::close(ends[1]);
    std::string text = to_json(job);
    for (std::string_view left = text; worker > 0 && !left.empty();) {
      const ssize_t sent = ::send(ends[0], left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      left.remove_prefix(static_cast<std::size_t>(sent));
    }
    ::shutdown(ends[0], SHUT_WR);
    auto renew_at = Clock::now();
    auto kill_at = Clock::time_point::max();
    std::optional<int> ended;
    while (worker > 0 && !(ended = reap(worker))) {
      bool cancel = false;
      if (Clock::now() >= renew_at) {
        cancel = link_.renew(job.id);
        renew_at = Clock::now() + std::chrono::milliseconds(link_.renew_every_ms());
      }
      if (const int signal = signals_.next(std::min(link_.renew_every_ms(), 200));
          signal != 0 && stop_signal_ == 0) {
        stop_signal_ = signal;
        cancel = true;
      }
      if (cancel && kill_at == Clock::time_point::max()) {
        ::kill(worker, SIGTERM);
        kill_at = Clock::now() + kWorkerGrace;
      }
      if (Clock::now() >= kill_at) ::kill(worker, SIGKILL);
    }
    worker_exit = ended.value_or(1);
    std::array<char, 16> answer{};
    const ssize_t got = ::recv(ends[0], answer.data(), answer.size(), MSG_DONTWAIT);
    if (got > 0) std::from_chars(answer.data(), answer.data() + got, script_exit);
    ::close(ends[0]);
  }
  report(job.id, conclusion(worker_exit), script_exit);
  say_at("Job " + job.name + " completed with result: " + shown(worker_exit));
  log_.log("JobDispatcher", "job " + std::to_string(job.id) + " is over");
  if (is_true(std::getenv("ACTIONS_RUNNER_RETURN_JOB_RESULT_FOR_HOSTED"))) return worker_exit;
  return exit_code::success;
}

void Listener::report(std::int64_t job, const std::string& result, int exit_code) {
  int back_off = kFirstBackOff;
  for (int i = 0; i < kReportTries && !link_.complete(job, result, exit_code); ++i) {
    if (!pause(back_off) && i > 2) return;
    back_off = std::min(back_off * 2, kLongestBackOff);
  }
}

bool Listener::pause(int milliseconds) {
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (stop_signal_ == 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    stop_signal_ = signals_.next(static_cast<int>(std::max<long>(left, 0)));
    if (left <= 0) break;
  }
  return stop_signal_ == 0;
}

int Listener::stopped_code() const { return stop_signal_ == SIGTERM ? 128 + SIGTERM : exit_code::success; }

}  // namespace emulator::runner
