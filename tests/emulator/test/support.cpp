#include "test/support.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace emulator::testing {
namespace {

using Clock = std::chrono::steady_clock;

pid_t spawn(std::vector<std::string> words, std::vector<std::string> environment) {
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (auto& word : words)
    argv.push_back(word.data());
  for (auto& entry : environment)
    envp.push_back(entry.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_t child = -1;
  if (::posix_spawn(&child, words.front().c_str(), nullptr, nullptr, argv.data(), envp.data()) != 0) {
    throw std::runtime_error("cannot start " + words.front());
  }
  return child;
}

std::optional<int> wait_for(pid_t child, std::chrono::seconds limit) {
  int status = 0;
  const auto until = Clock::now() + limit;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

constexpr const char* kPath = "PATH=/usr/local/bin:/usr/bin:/bin";

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "emulator-test.XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run_program(const std::vector<std::string>& words) {
  const pid_t child = spawn(words, {kPath});
  const auto code = wait_for(child, std::chrono::seconds(100));
  if (code) return *code;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  throw std::runtime_error("took too long: " + words.front());
}

void unpack(const std::string& archive, const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  const int code = run_program({"/bin/tar", "-C", directory.string(), "--no-same-owner", "-xzf", archive});
  if (code != 0) throw std::runtime_error("cannot unpack " + archive);
}

ListenerProcess::ListenerProcess(const std::filesystem::path& root, const std::string& jit,
                                 const std::map<std::string, std::string>& environment) {
  std::vector<std::string> entries{kPath};
  if (!jit.empty()) entries.push_back("ACTIONS_RUNNER_INPUT_JITCONFIG=" + jit);
  for (const auto& [name, value] : environment)
    entries.push_back(name + "=" + value);
  pid_ = spawn({(root / "bin" / "Runner.Listener").string(), "run"}, entries);
}

ListenerProcess::~ListenerProcess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void ListenerProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::optional<int> ListenerProcess::wait() {
  if (pid_ < 0) return std::nullopt;
  const auto code = wait_for(pid_, std::chrono::seconds(30));
  if (code) pid_ = -1;
  return code;
}

EmulatorOptions one_repository() {
  EmulatorOptions options;
  options.repositories = {"o/r"};
  return options;
}

Stage::Stage(const EmulatorOptions& options) : emulator(options) {}

std::filesystem::path Stage::fresh_root() {
  const auto root = directory.path() / ("runner" + std::to_string(++roots));
  unpack(built_runner_package(), root);
  return root;
}

std::unique_ptr<ListenerProcess> Stage::online_listener(
    const std::string& name, const std::vector<std::string>& labels, std::filesystem::path* root,
    const std::map<std::string, std::string>& environment) {
  const auto registration = emulator->register_runner("o/r", name, labels);
  const auto place = fresh_root();
  if (root != nullptr) *root = place;
  auto listener = std::make_unique<ListenerProcess>(place, registration.encoded_jit_config, environment);
  if (!emulator->wait_for_runner(registration.id,
                                 [](const RunnerView& runner) { return runner.listener_pid != 0; })) {
    throw std::runtime_error("the listener did not connect");
  }
  return listener;
}

}  // namespace emulator::testing
