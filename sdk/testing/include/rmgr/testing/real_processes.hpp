// Real processes for the process service of a test host: what a plugin starts through it really runs.
//
// Simpler than the daemon's supervisor: children belong to the test and are ended with it, each has a process
// group of its own and no cgroup. `uid`, `gid`, limits, hidden and private directories are refused, and nice
// levels, resource limits and flags are ignored. Linux only.
#pragma once

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers) kill
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "rmgr/testing/processes.hpp"

namespace rmgr::testing {

// Thread-safe.
class RealProcesses final : public Processes {
 public:
  RealProcesses() = default;
  ~RealProcesses() override {
    for (auto& [key, child] : children_)
      end(child);
  }
  RealProcesses(const RealProcesses&) = delete;
  RealProcesses& operator=(const RealProcesses&) = delete;

  ProcessIdentity spawn_held(const ProcessSpec& spec) override {
    if (spec.uid || spec.gid)
      throw Error(Status::unsupported, "Processes of tests run under the account of the test only.");
    if (spec.cpu_milli != 0 || spec.memory_bytes != 0 || spec.pids != 0 || !spec.hidden_directories.empty() ||
        !spec.private_directories.empty())
      throw Error(Status::unsupported, "Processes of tests have no limits and no directories of their own.");
    const std::lock_guard lock(mutex_);
    if (children_.count(spec.key) != 0) throw Error(Status::exists, "A process of that key is known.");
    return children_.emplace(spec.key, spawn(spec)).first->second.identity;
  }

  void release(std::string_view key, const ProcessIdentity& identity, std::string_view secret_name,
               SecretView secret) override {
    const std::lock_guard lock(mutex_);
    Child* child = find(key, identity);
    if (child == nullptr || child->gate < 0)
      throw Error(Status::not_found, "No process of that identity is held.");
    std::string entry = std::string(secret_name) + '=' + std::string(secret.reveal());
    const auto size = static_cast<std::uint32_t>(entry.size());
    const bool sent =
        write_all(child->gate, &size, sizeof size) && write_all(child->gate, entry.data(), entry.size());
    wipe(entry.data(), entry.size());
    close_gate(*child);
    int failure = 0;
    const ssize_t got = ::read(child->answer, &failure, sizeof failure);  // nothing once it executed
    ::close(std::exchange(child->answer, -1));
    if (!sent || got != 0) {
      end(*child);
      child->state = {ProcessStatus::missing, 0, 0, false};
      throw Error(Status::invalid, "The program could not be executed.");
    }
    child->released = true;
  }

  ProcessState inspect(std::string_view key, const ProcessIdentity& identity) override {
    const std::lock_guard lock(mutex_);
    Child* child = find(key, identity);
    if (child == nullptr) return {};
    reap(*child, WNOHANG);
    return child->state;
  }

  // Waits in real time.
  void stop(std::string_view key, const ProcessIdentity& identity, Millis grace) override {
    const std::lock_guard lock(mutex_);
    Child* child = find(key, identity);
    if (child == nullptr || child->reaped) return;
    if (child->released) ::kill(-child->pid, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + grace;
    while (child->released && !child->reaped && std::chrono::steady_clock::now() < until) {
      reap(*child, WNOHANG);
      if (!child->reaped) std::this_thread::sleep_for(Millis{10});
    }
    end(*child);
  }

  void forget(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    const auto found = children_.find(std::string(key));
    if (found == children_.end()) return;
    end(found->second);
    children_.erase(found);
  }

 private:
  struct Child {
    pid_t pid = -1;
    int gate = -1;    // closed without a word: the child leaves
    int answer = -1;  // says why it could not execute
    bool released = false;
    bool reaped = false;
    ProcessIdentity identity;
    ProcessState state{ProcessStatus::prepared, 0, 0, false};
  };

  static bool write_all(int to, const void* from, std::size_t size) {
    const char* bytes = static_cast<const char*>(from);
    while (size > 0) {
      const ssize_t written = ::write(to, bytes, size);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      bytes += written;
      size -= static_cast<std::size_t>(written);
    }
    return true;
  }
  static bool read_all(int from, char* to, std::size_t size) {
    while (size > 0) {
      const ssize_t got = ::read(from, to, size);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }

  static Child spawn(const ProcessSpec& spec) {
    int gate[2];
    int answer[2];
    if (::pipe2(gate, O_CLOEXEC) != 0 || ::pipe2(answer, O_CLOEXEC) != 0)
      throw Error(Status::retry, "The test is out of file descriptors.");
    // Everything that the child needs is made before the fork: after it only system calls are safe.
    std::vector<char*> words;
    for (const std::string& word : spec.argv)
      words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::vector<char*> variables;
    for (const std::string& variable : spec.environment)
      variables.push_back(const_cast<char*>(variable.c_str()));
    std::vector<char> secret(RMGR_SECRET_MAX + 4096);
    variables.push_back(secret.data());
    variables.push_back(nullptr);
    const pid_t pid = ::fork();
    if (pid == 0)
      run(spec.directory.c_str(), words.data(), variables.data(), secret, gate[0], gate[1], answer[1]);
    ::close(gate[0]);
    ::close(answer[1]);
    Child child;
    child.pid = pid;
    child.gate = gate[1];
    child.answer = answer[0];
    if (pid < 0) {
      close_gate(child);
      ::close(child.answer);
      throw Error(Status::retry, "The test could not start another process.");
    }
    ::setpgid(pid, pid);  // also here: either side may be first
    child.identity = {pid, start_token(pid), boot_id()};
    return child;
  }

  [[noreturn]] static void run(const char* directory, char** words, char** variables,
                               std::vector<char>& secret, int gate, int other_end, int answer) {
    ::close(other_end);
    ::setpgid(0, 0);
    std::uint32_t size = 0;
    if (!read_all(gate, reinterpret_cast<char*>(&size), sizeof size) || size >= secret.size() ||
        !read_all(gate, secret.data(), size))
      ::_exit(0);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int standard = 0; standard < 3; ++standard)
      ::dup2(null, standard);
    if (::chdir(directory) == 0) ::execve(words[0], words, variables);
    const int failure = errno;
    (void)write_all(answer, &failure, sizeof failure);
    ::_exit(127);
  }

  static std::uint64_t start_token(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    std::size_t at = text.rfind(')');
    for (int field = 2; field < 22 && at != std::string::npos; ++field)
      at = text.find(' ', at + 1);
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 1));
  }
  static std::string boot_id() {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string text;
    std::getline(file, text);
    return text;
  }

  Child* find(std::string_view key, const ProcessIdentity& identity) {
    const auto found = children_.find(std::string(key));
    return found == children_.end() || found->second.identity != identity ? nullptr : &found->second;
  }
  static void close_gate(Child& child) {
    if (child.gate >= 0) ::close(std::exchange(child.gate, -1));
  }
  static void reap(Child& child, int flags) {
    if (child.released && !child.reaped) child.state.status = ProcessStatus::running;
    int status = 0;
    if (child.reaped || ::waitpid(child.pid, &status, flags) != child.pid) return;
    child.reaped = true;
    if (child.released) ::kill(-child.pid, SIGKILL);  // what the main process left behind
    child.state.status = child.released ? ProcessStatus::exited : ProcessStatus::missing;
    child.state.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    child.state.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  static void end(Child& child) {
    close_gate(child);
    if (child.answer >= 0) ::close(std::exchange(child.answer, -1));
    if (child.reaped) return;
    ::kill(-child.pid, SIGKILL);
    reap(child, 0);
  }

  std::mutex mutex_;
  std::map<std::string, Child> children_;
};

}  // namespace rmgr::testing
