// Runner.Worker: runs the script of one job and ends with 100 plus its result. Its listener starts it with a
// socket as descriptor 3, sends the job over it, and reads the script's exit code from it.
#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "runner/job.hpp"
#include "runner/layout.hpp"
#include "runner/signals.hpp"
#include "wire/text.hpp"

namespace emulator::runner {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kJobSocket = 3;
constexpr std::size_t kLargestJob = 8U << 20U;
constexpr auto kCancelGrace = std::chrono::seconds(2);

std::string receive_job() {
  std::string text;
  std::array<char, 65536> buffer{};
  ssize_t got = 0;
  while (text.size() < kLargestJob && (got = ::read(kJobSocket, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Signals every process whose initial environment carries this job's tracking id.
void signal_tracked(const std::string& tracking_id, int signal) {
  const std::string wanted = "RUNNER_TRACKING_ID=" + tracking_id;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    pid_t pid = 0;
    const auto [rest, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc{} || rest != name.data() + name.size() || pid == ::getpid()) continue;
    std::ifstream file(at->path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    for (const auto& entry : split(environment, '\0')) {
      if (entry == wanted) {
        ::kill(pid, signal);
        break;
      }
    }
  }
}

void set(const std::string& name, const std::string& value) { ::setenv(name.c_str(), value.c_str(), 1); }

void set_job_environment(const JobMessage& job, const fs::path& work, const fs::path& workspace,
                         const std::string& tracking_id) {
  set("CI", "true");
  set("GITHUB_ACTIONS", "true");
  set("GITHUB_REPOSITORY", job.owner + "/" + job.repository);
  set("GITHUB_REPOSITORY_OWNER", job.owner);
  set("GITHUB_RUN_ID", std::to_string(job.run_id));
  set("GITHUB_RUN_ATTEMPT", std::to_string(job.attempt));
  set("GITHUB_JOB", job.name);
  set("GITHUB_WORKSPACE", workspace.string());
  set("GITHUB_SERVER_URL", job.server_url);
  set("GITHUB_API_URL", job.server_url + "/api/v3");
  set("RUNNER_NAME", job.runner_name);
  set("RUNNER_OS", "Linux");
  set("RUNNER_ARCH", "X64");
  set("RUNNER_ENVIRONMENT", "self-hosted");
  set("RUNNER_TEMP", (work / "_temp").string());
  set("RUNNER_TOOL_CACHE", (work / "_tool").string());
  set("RUNNER_WORKSPACE", workspace.parent_path().string());
  set("RUNNER_TRACKING_ID", tracking_id);
}

struct Ended {
  int exit_code = 1;
  bool cancelled = false;
};

// One shell script, to its end or until a signal asks for its end.
Ended run_script(const fs::path& script, const fs::path& directory, const fs::path& output, SignalFd& signals,
                 const std::string& tracking_id) {
  const pid_t child = launch(
      {.program = "/bin/sh", .arguments = {"-e", script.string()}, .directory = directory, .output = output});
  Ended ended;
  if (child < 0) return ended;
  Clock::time_point kill_at = Clock::time_point::max();
  while (true) {
    if (const auto code = reap(child)) {
      ended.exit_code = *code;
      return ended;
    }
    if (signals.next(200) != 0 && !ended.cancelled) {
      ended.cancelled = true;
      signal_tracked(tracking_id, SIGTERM);
      kill_at = Clock::now() + kCancelGrace;
    }
    if (Clock::now() >= kill_at) {
      signal_tracked(tracking_id, SIGKILL);
      kill_at = Clock::now() + kCancelGrace;
    }
  }
}

Ended run_job(const JobMessage& job, const fs::path& root, SignalFd& signals, DiagnosticLog& log) {
  const fs::path work = root / job.work_folder;
  const fs::path workspace = work / job.repository / job.repository;
  const fs::path pages = root / "_diag" / "pages";
  for (const auto& directory : {workspace, work / "_temp", work / "_tool", work / "_actions", pages}) {
    fs::create_directories(directory);
  }
  const std::string tracking_id = "github_" + random_hex(16);
  set_job_environment(job, work, workspace, tracking_id);
  const fs::path script = work / "_temp" / (random_hex(16) + ".sh");
  std::ofstream(script) << job.script << "\n";
  const fs::path output = pages / (std::to_string(job.id) + "_1.log");

  Ended ended{0, false};
  const char* before = std::getenv("ACTIONS_RUNNER_HOOK_JOB_STARTED");
  if (before != nullptr && *before != '\0')
    ended = run_script(before, workspace, output, signals, tracking_id);
  if (ended.exit_code == 0 && !ended.cancelled)
    ended = run_script(script, workspace, output, signals, tracking_id);
  log.log("StepsRunner", "the step ended with " + std::to_string(ended.exit_code));
  const char* after = std::getenv("ACTIONS_RUNNER_HOOK_JOB_COMPLETED");
  if (after != nullptr && *after != '\0') run_script(after, workspace, output, signals, tracking_id);
  // While a process executes another program its environment reads as empty, so one look can miss it.
  for (int look = 0; look < 3; ++look) {
    signal_tracked(tracking_id, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::error_code ignored;
  fs::remove(script, ignored);
  return ended;
}

int work() {
  SignalFd signals;
  const fs::path root = root_directory();
  DiagnosticLog log(root, "Worker");
  const auto job = parse_job(receive_job());
  if (!job) {
    log.log("Worker", "the job message is malformed");
    return 1;
  }
  log.log("Worker", "job " + std::to_string(job->id) + " begins");
  const Ended ended = run_job(*job, root, signals, log);
  const std::string answer = std::to_string(ended.exit_code);
  if (::send(kJobSocket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0)
    log.log("Worker", "the listener has gone");
  const JobResult result = ended.cancelled        ? JobResult::cancelled
                           : ended.exit_code == 0 ? JobResult::succeeded
                                                  : JobResult::failed;
  log.log("Worker", "job " + std::to_string(job->id) + " ends");
  return kWorkerExitBase + static_cast<int>(result);
}

}  // namespace
}  // namespace emulator::runner

int main(int argc, char** argv) {
  if (argc < 2 || std::string(argv[1]) != "spawnclient") return 1;
  try {
    return emulator::runner::work();
  } catch (const std::exception&) {
    return 1;
  }
}
