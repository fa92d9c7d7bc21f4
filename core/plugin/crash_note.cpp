#include "plugin/crash_note.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
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
constexpr std::array fatal_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

// A signal handler is given nothing, so what it needs stands here.
std::atomic<int> note_file{-1};
std::atomic<pid_t> noting_process{0};
std::array<struct sigaction, fatal_signals.size()> earlier{};
thread_local constinit Blame blame;

// Where the code of a library is, and what a note of it says.
struct Code {
  std::uintptr_t begin = 0, end = 0;
  std::array<char, digest_size + 1> line{};
};
constexpr std::size_t most_libraries = 64;
std::array<Code, most_libraries> known_code{};
std::atomic<std::size_t> known_count{0};

// The innermost code of a plugin on this thread's stack. The unwinder was loaded before, and then walking
// takes no lock.
const char* found_on_stack() {
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const std::size_t libraries = known_count.load();
  for (int i = 0; i < count; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]);
    for (std::size_t k = 0; k < libraries; ++k) {
      if (at >= known_code[k].begin && at < known_code[k].end) return known_code[k].line.data();
    }
  }
  return nullptr;
}

// Only what may be called from a signal handler. A child that somebody forked is not the daemon.
void leave_note() {
  const int file = note_file.load();
  if (file < 0 || ::getpid() != noting_process.load()) return;
  const char* line = blame.plugin;
  if (line == nullptr && !blame.nobody) line = found_on_stack();
  if (line == nullptr) return;
  [[maybe_unused]] const ssize_t written = ::write(file, line, digest_size + 1);
}

// The object around an address, to be filled in.
struct Search {
  std::uintptr_t inside = 0;
  Code* code = nullptr;
};

int look_at(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t at = object->dlpi_addr + segment.p_vaddr;
    begin = std::min(begin, at);
    end = std::max(end, at + segment.p_memsz);
  }
  if (search.inside < begin || search.inside >= end) return 0;
  search.code->begin = begin;
  search.code->end = end;
  return 1;
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

struct sigaction noting() {
  struct sigaction action {};
  action.sa_sigaction = &on_fatal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  return action;
}

// A plugin may have put something else in its place, which it must not.
void watch_again() {
  if (note_file.load() < 0) return;
  for (const int signal : fatal_signals) {
    struct sigaction there {};
    if (::sigaction(signal, nullptr, &there) != 0) continue;
    if ((there.sa_flags & SA_SIGINFO) != 0 && there.sa_sigaction == &on_fatal) continue;
    const struct sigaction action = noting();
    ::sigaction(signal, &action, nullptr);
  }
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
  (void)found_on_stack();
  if (std::atexit(&leave_note) != 0) return cannot("Cannot watch over", path);
  const struct sigaction action = noting();
  for (std::size_t i = 0; i < fatal_signals.size(); ++i)
    ::sigaction(fatal_signals[i], &action, &earlier[i]);
  return {};
}

void know_code(const void* inside, std::string_view digest) noexcept {
  const std::size_t next = known_count.load();
  if (digest.size() != digest_size || next >= most_libraries) return;
  Code& code = known_code[next];
  Search search{reinterpret_cast<std::uintptr_t>(inside), &code};
  if (::dl_iterate_phdr(&look_at, &search) == 0) return;
  std::memcpy(code.line.data(), digest.data(), digest_size);
  code.line[digest_size] = '\n';
  known_count.store(next + 1);
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
    blame = {.nobody = true};
    return;
  }
  watch_again();
  std::memcpy(line_.data(), digest.data(), digest_size);
  line_[digest_size] = '\n';
  blame = {.plugin = line_.data()};
}

InCallOf::~InCallOf() { blame = outer_; }

InHostCode::InHostCode() noexcept : outer_(blame) {
  blame = {.caller = blame.plugin != nullptr ? blame.plugin : blame.caller, .nobody = true};
}

InHostCode::~InHostCode() { blame = outer_; }

InPluginAgain::InPluginAgain() noexcept : outer_(blame) {
  if (blame.plugin == nullptr) blame = {.plugin = blame.caller};
}

InPluginAgain::~InPluginAgain() { blame = outer_; }

}  // namespace agent::plugin
