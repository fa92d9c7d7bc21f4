#include "plugin/crash_note.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

constexpr std::size_t most_notes = 16;
constexpr std::size_t guard_size = 64 * 1024;       // a multiple of every page size
constexpr std::size_t alternate_size = 128 * 1024;  // handlers of others may run on it too
constexpr std::array fatal_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// A signal handler is given nothing, so what it needs stands here.
std::atomic<int> note_file{-1};
std::atomic<pid_t> noting_process{0};
std::array<struct sigaction, fatal_signals.size()> earlier{};
thread_local constinit Blame blame;

// Only what may be called from a signal handler. A child that somebody forked is not the daemon.
void leave_note() {
  const int file = note_file.load();
  if (blame.plugin == nullptr || file < 0 || ::getpid() != noting_process.load()) return;
  [[maybe_unused]] const ssize_t written = ::write(file, blame.plugin, digest_size + 1);
}

void on_fatal(int signal, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  // What was sent names its sender: abort() and raise() come from here, a kill from outside does not.
  const bool from_outside = info->si_code <= 0 && info->si_pid != ::getpid();
  if (!from_outside) leave_note();
  for (std::size_t i = 0; i < fatal_signals.size(); ++i) {
    if (fatal_signals[i] == signal) ::sigaction(signal, &earlier[i], nullptr);
  }
  errno = error;
  // A fault comes again as soon as this returns; what somebody sent has to be sent again.
  if (info->si_code <= 0) ::raise(signal);
}

Error cannot(const std::string& what, const std::string& path) {
  return {ErrorCode::retry,
          what + " the file " + path + " that names crashed plugins (" + std::strerror(errno) +
              "); check the state directory.",
          {}};
}

bool is_digest(const std::string& line) {
  return line.size() == digest_size && line.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Result<std::vector<std::string>> take_crash_notes(const std::string& path) {
  std::vector<std::string> digests;
  {
    std::ifstream in(path);
    std::string line;
    while (digests.size() < most_notes && std::getline(in, line)) {
      // Threads may crash side by side; the process ended once.
      const bool known = std::find(digests.begin(), digests.end(), line) != digests.end();
      if (is_digest(line) && !known) digests.push_back(line);
    }
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return cannot("Cannot remove", path);
  return digests;
}

Result<void> leave_crash_notes(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return cannot("Cannot open", path);
  noting_process = ::getpid();
  static thread_local const AlternateStack stack;
  if (const int before = note_file.exchange(file); before >= 0) {
    ::close(before);
    return {};
  }
  if (std::atexit(&leave_note) != 0) return cannot("Cannot watch over", path);
  struct sigaction action {};
  action.sa_sigaction = &on_fatal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  for (std::size_t i = 0; i < fatal_signals.size(); ++i)
    ::sigaction(fatal_signals[i], &action, &earlier[i]);
  return {};
}

AlternateStack::AlternateStack() noexcept {
  stack_t there{};
  if (::sigaltstack(nullptr, &there) != 0 || (there.ss_flags & SS_DISABLE) == 0) return;
  const std::size_t size = guard_size + alternate_size;
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t ours{};
  ours.ss_sp = static_cast<char*>(memory) + guard_size;
  ours.ss_size = alternate_size;
  if (::mprotect(memory, guard_size, PROT_NONE) == 0 && ::sigaltstack(&ours, nullptr) == 0)
    memory_ = memory;
  else
    ::munmap(memory, size);
}

AlternateStack::~AlternateStack() {
  if (memory_ == nullptr) return;
  stack_t there{};
  // Somebody who has put another in its place since may put this one back.
  if (::sigaltstack(nullptr, &there) != 0 || there.ss_sp != static_cast<char*>(memory_) + guard_size) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  if (::sigaltstack(&none, nullptr) == 0) ::munmap(memory_, guard_size + alternate_size);
}

InCallOf::InCallOf(std::string_view digest) noexcept : outer_(blame) {
  if (digest.size() != digest_size) {
    blame = {};
    return;
  }
  std::memcpy(line_.data(), digest.data(), digest_size);
  line_[digest_size] = '\n';
  blame = {line_.data(), nullptr};
}

InCallOf::~InCallOf() { blame = outer_; }

InHostCode::InHostCode() noexcept : outer_(blame) {
  if (blame.plugin != nullptr) blame = {nullptr, blame.plugin};
}

InHostCode::~InHostCode() { blame = outer_; }

InPluginAgain::InPluginAgain() noexcept : outer_(blame) {
  if (blame.caller != nullptr) blame = {blame.caller, nullptr};
}

InPluginAgain::~InPluginAgain() { blame = outer_; }

}  // namespace agent::plugin
