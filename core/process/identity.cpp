#include "process/identity.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr std::size_t max_processes = 1'000'000;

std::optional<std::string> read_small(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  char text[1024];
  const ssize_t size = ::read(fd.get(), text, sizeof text);
  if (size < 0) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(size));
}

void reap(const Fd& pidfd) {
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd.get()), &info, WEXITED | WNOHANG) != 0 && errno == EINTR) {
  }
}

}  // namespace

Result<domain::BootId> current_boot() {
  auto text = read_small("/proc/sys/kernel/random/boot_id");
  if (!text || text->size() < 36) {
    return Error{ErrorCode::unsupported, "The kernel's boot id cannot be read; /proc must be mounted."};
  }
  return domain::BootId(text->substr(0, 36));
}

std::optional<StatLine> read_stat(std::int64_t pid) {
  const auto text = read_small("/proc/" + std::to_string(pid) + "/stat");
  StatLine line;
  if (!text || !parse_stat(*text, line)) return std::nullopt;
  return line;
}

Result<std::uint64_t> start_token(std::int64_t pid) {
  const auto line = read_stat(pid);
  if (!line) {
    return Error{ErrorCode::not_found,
                 "Process " + std::to_string(pid) + " has no readable stat line in /proc."};
  }
  return line->start;
}

Result<std::optional<Fd>> open_pid(std::int64_t pid) {
  if (pid <= 0) return std::optional<Fd>();
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  if (fd) return std::optional<Fd>(std::move(fd));
  // EINVAL and ENOENT: the number names a thread of some process by now, so not the process that it named.
  if (errno == ESRCH || errno == EINVAL || errno == ENOENT) return std::optional<Fd>();
  return Error{ErrorCode::retry,
               "Process " + std::to_string(pid) + " cannot be examined: " + std::strerror(errno) + "."};
}

Result<std::optional<Fd>> open_live(const ProcessIdentity& identity, const domain::BootId& boot) {
  if (identity.pid <= 0 || identity.boot_id != boot) return std::optional<Fd>();
  auto opened = open_pid(identity.pid);
  if (!opened || !*opened) return opened;
  // The handle comes first: what the stat line says is then about this process or a later one, never an
  // earlier.
  const auto line = read_stat(identity.pid);
  if (line && line->start != identity.start_token) return std::optional<Fd>();
  if (ended(**opened, domain::Millis(0))) return std::optional<Fd>();
  if (!line) {
    return Error{ErrorCode::retry, "Process " + std::to_string(identity.pid) +
                                       " lives but its start cannot be read; is /proc mounted with hidepid?"};
  }
  return opened;
}

bool ended(const Fd& pidfd, domain::Millis timeout) {
  pollfd fd{pidfd.get(), POLLIN, 0};
  if (::poll(&fd, 1, static_cast<int>(timeout.count())) <= 0 || fd.revents == 0) return false;
  reap(pidfd);
  return true;
}

Result<bool> signal(const Fd& pidfd, int number) {
  if (::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0) == 0) return true;
  if (errno == ESRCH) return false;
  return Error{errno == EPERM ? ErrorCode::denied : ErrorCode::retry,
               std::string("A process could not be signalled: ") + std::strerror(errno) + "."};
}

Result<std::vector<Seen>> all_processes() {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc)
    return Error{ErrorCode::retry, std::string("/proc cannot be listed: ") + std::strerror(errno) + "."};
  std::vector<Seen> all;
  while (const dirent* entry = ::readdir(proc.get())) {
    const std::string_view name(entry->d_name);
    std::int64_t pid = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failure != std::errc() || end != name.data() + name.size()) continue;
    const auto line = read_stat(pid);
    if (!line) continue;
    if (all.size() == max_processes)
      return Error{ErrorCode::retry, "/proc lists more processes than can be examined."};
    all.push_back(Seen{pid, *line});
  }
  return all;
}

}  // namespace agent::process
