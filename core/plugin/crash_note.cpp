#include "plugin/crash_note.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

constexpr std::size_t most_notes = 16;
constexpr std::array fatal_signals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// A signal handler is given nothing, so what it needs stands here.
std::atomic<int> note_file{-1};
std::array<struct sigaction, fatal_signals.size()> earlier{};
thread_local const char* in_call = nullptr;

// Only what may be called from a signal handler.
void on_fatal(int signal, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  const int file = note_file.load();
  if (in_call != nullptr && file >= 0) {
    [[maybe_unused]] const ssize_t written = ::write(file, in_call, digest_size + 1);
  }
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
      if (is_digest(line)) digests.push_back(line);
    }
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return cannot("Cannot remove", path);
  return digests;
}

Result<void> leave_crash_notes(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return cannot("Cannot open", path);
  if (const int before = note_file.exchange(file); before >= 0) {
    ::close(before);
    return {};
  }
  struct sigaction action {};
  action.sa_sigaction = &on_fatal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  for (std::size_t i = 0; i < fatal_signals.size(); ++i)
    ::sigaction(fatal_signals[i], &action, &earlier[i]);
  return {};
}

InCallOf::InCallOf(std::string_view digest) noexcept : outer_(in_call) {
  if (digest.size() != digest_size) return;
  std::memcpy(line_.data(), digest.data(), digest_size);
  line_[digest_size] = '\n';
  in_call = line_.data();
}

InCallOf::~InCallOf() { in_call = outer_; }

}  // namespace agent::plugin
