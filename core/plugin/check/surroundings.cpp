#include "plugin/check/surroundings.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <filesystem>

namespace agent::plugin {
namespace {

ino_t inode_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

void (*handler_of(int signal))(int) {
  struct sigaction action {};
  if (::sigaction(signal, nullptr, &action) != 0) return SIG_DFL;
  return action.sa_handler;  // one union with sa_sigaction
}

sigset_t mask_of_thread() {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

mode_t current_umask() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return mask;
}

std::string current_directory() {
  std::error_code ignored;
  return std::filesystem::current_path(ignored).string();
}

std::string current_locale() {
  const char* const name = std::setlocale(LC_ALL, nullptr);
  return name != nullptr ? name : "";
}

std::vector<std::string> current_environment() {
  std::vector<std::string> variables;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each)
    variables.emplace_back(*each);
  return variables;
}

}  // namespace

Surroundings::Surroundings()
    : mask_(mask_of_thread()),
      umask_(current_umask()),
      directory_(current_directory()),
      locale_(current_locale()),
      environment_(current_environment()) {
  for (Descriptor& each : descriptors_) {
    each.fd = ::memfd_create("not-a-plugins", MFD_CLOEXEC);
    each.inode = inode_of(each.fd);
  }
  for (int signal = 1; signal < kSignals; ++signal)
    handlers_[static_cast<std::size_t>(signal)] = handler_of(signal);
}

Surroundings::~Surroundings() {
  for (const Descriptor& each : descriptors_) {
    if (inode_of(each.fd) == each.inode) ::close(each.fd);
  }
}

const char* Surroundings::changed() const {
  const bool descriptors = std::all_of(descriptors_.begin(), descriptors_.end(), [](const Descriptor& each) {
    return each.inode != 0 && inode_of(each.fd) == each.inode;
  });
  if (!descriptors) return "closed or replaced descriptors that it did not open";
  for (int signal = 1; signal < kSignals; ++signal) {
    if (handler_of(signal) != handlers_[static_cast<std::size_t>(signal)])
      return "changed what the process does on a signal";
  }
  const sigset_t mask = mask_of_thread();
  for (int signal = 1; signal < kSignals; ++signal) {
    if (::sigismember(&mask, signal) != ::sigismember(&mask_, signal))
      return "changed which signals the calling thread blocks";
  }
  if (current_umask() != umask_) return "changed the process's umask";
  if (current_directory() != directory_) return "changed the process's directory";
  if (current_locale() != locale_) return "changed the process's locale";
  if (current_environment() != environment_) return "changed the process's environment";
  return nullptr;
}

domain::Result<void> Surroundings::check() const {
  const char* const what = changed();
  if (what == nullptr) return {};
  return domain::Error{domain::ErrorCode::invalid,
                       std::string("It ") + what +
                           ", which belongs to the daemon and to all plugins; report it to its vendor.",
                       {}};
}

}  // namespace agent::plugin
