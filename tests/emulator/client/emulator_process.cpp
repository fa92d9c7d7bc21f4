#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "client/emulator_client.hpp"
#include "wire/text.hpp"

namespace emulator {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kStartLimit = std::chrono::seconds(30);
constexpr auto kStopLimit = std::chrono::seconds(5);

std::string read_line(int fd) {
  std::string line;
  const auto until = Clock::now() + kStartLimit;
  while (Clock::now() < until) {
    pollfd set{fd, POLLIN, 0};
    if (::poll(&set, 1, 200) <= 0) continue;
    char c = 0;
    if (::read(fd, &c, 1) != 1) break;
    if (c == '\n') return line;
    line.push_back(c);
  }
  return {};
}

// Between these two in the line; empty if they are not there.
std::string between(const std::string& line, const std::string& before, char after) {
  const auto at = line.find(before);
  if (at == std::string::npos) return {};
  const auto from = at + before.size();
  return line.substr(from, line.find(after, from) - from);
}

}  // namespace

std::string built_runner_package() { return EMULATOR_PACKAGE; }

EmulatorProcess::EmulatorProcess(const EmulatorOptions& options) : token_(options.token) {
  std::vector<std::string> words{options.program.empty() ? EMULATOR_PROGRAM : options.program};
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  add("--port", std::to_string(options.port));
  words.emplace_back("--stop-on-input-end");
  if (!options.token.empty()) add("--token", options.token);
  for (const auto& file : options.packages)
    add("--package", file);
  if (options.packages.empty()) add("--package", built_runner_package());
  for (const auto& repository : options.repositories)
    add("--target", repository);
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe for the emulator");
  if (::pipe2(out.data(), O_CLOEXEC) != 0) {
    ::close(in[0]);
    ::close(in[1]);
    throw std::runtime_error("no pipe for the emulator");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int error = ::posix_spawn(&pid_, words.front().c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  input_ = in[1];
  if (error != 0) pid_ = -1;
  const std::string line = error == 0 ? read_line(out[0]) : "";
  ::close(out[0]);
  url_ = between(line, "\"url\":\"", '"');
  const std::string port = between(line, "\"port\":", ',');
  std::from_chars(port.data(), port.data() + port.size(), port_);
  if (url_.empty() || port_ == 0) {
    stop();
    throw std::runtime_error("the emulator did not start: " + words.front());
  }
  client_.emplace(url_, token_);
}

EmulatorProcess::~EmulatorProcess() { stop(); }

std::optional<int> EmulatorProcess::stop() {
  if (input_ >= 0) ::close(input_);
  input_ = -1;
  if (pid_ < 0) return std::nullopt;
  int status = 0;
  const auto until = Clock::now() + kStopLimit;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() >= until) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace emulator
