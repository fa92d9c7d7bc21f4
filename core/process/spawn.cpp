#include "process/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "process/identity.hpp"
#include "process/protocol.hpp"
#include "process/records.hpp"

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr domain::Millis kill_wait{5'000};

// The attributes and actions of one posix_spawn, freed with it.
struct Orders {
  Orders() {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&actions);
  }
  ~Orders() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;
  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t actions{};
};

int spawn(const std::string& program, const std::string& key, int gate, pid_t& pid) {
  Orders orders;
  sigset_t none;
  ::sigemptyset(&none);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&orders.attributes, &none);
  ::posix_spawnattr_setsigdefault(&orders.attributes, &all);
  ::posix_spawnattr_setflags(&orders.attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  int failure = ::posix_spawn_file_actions_adddup2(&orders.actions, gate, STDIN_FILENO);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (failure == 0) {
      failure = ::posix_spawn_file_actions_addopen(&orders.actions, stream, "/dev/null", O_RDWR, 0);
    }
  }
  // Descriptors of other spawns, of sockets and of the journal end here, marked close-on-exec or not.
  if (failure == 0) failure = ::posix_spawn_file_actions_addclosefrom_np(&orders.actions, STDERR_FILENO + 1);
  if (failure != 0) return failure;
  std::string name = "rmgr-shim";
  std::string argument = key;
  char* arguments[] = {name.data(), argument.data(), nullptr};
  char* environment[] = {nullptr};
  return ::posix_spawn(&pid, program.c_str(), &orders.actions, &orders.attributes, arguments, environment);
}

bool has_zero(const std::string& text) { return text.find('\0') != std::string::npos; }

bool is_path(const std::string& text) {
  return text.starts_with('/') && text.size() < PATH_MAX && !has_zero(text);
}

// What contains the process; a sentence if something is wrong.
const char* wrong_containment(const Spec& spec) {
  const Limits& limits = spec.limits;
  if (limits.cpu_milli < 0 || limits.memory_bytes < 0 || limits.pids < 0)
    return "A limit of a process is less than nothing.";
  if ((limits.cpu_milli > 0 && limits.cpu_milli < 10) || limits.cpu_milli > 1'000'000'000)
    return "A CPU limit must be between a hundredth of a core and a million cores.";
  if (limits.memory_bytes > 0 && limits.memory_bytes < (std::int64_t{1} << 20U))
    return "A memory limit must be 1 MiB or more.";
  if (spec.nice < -20 || spec.nice > 19) return "A nice level must be between -20 and 19.";
  if (spec.resource_limits.size() > wire::max_resource_limits)
    return "A process may have at most 16 resource limits.";
  for (const ResourceLimit& limit : spec.resource_limits) {
    if (!resource_of(limit.name)) return "A resource limit has a name that is not known.";
  }
  if (spec.hidden_directories.size() > wire::max_directories ||
      spec.private_directories.size() > wire::max_directories)
    return "A process may have at most 64 hidden and 64 private directories.";
  if (!std::all_of(spec.hidden_directories.begin(), spec.hidden_directories.end(), is_path))
    return "A hidden directory needs an absolute path.";
  for (const PrivateDirectory& directory : spec.private_directories) {
    if (!is_path(directory.target) || (!directory.backing.empty() && !is_path(directory.backing)))
      return "A private directory needs absolute paths.";
  }
  return nullptr;
}

}  // namespace

std::optional<int> resource_of(std::string_view name) {
  struct Known {
    std::string_view name;
    int resource;
  };
  static constexpr Known known[] = {{"open_files", RLIMIT_NOFILE}, {"core", RLIMIT_CORE},
                                    {"file_size", RLIMIT_FSIZE},   {"processes", RLIMIT_NPROC},
                                    {"address_space", RLIMIT_AS},  {"data", RLIMIT_DATA},
                                    {"stack", RLIMIT_STACK},       {"locked_memory", RLIMIT_MEMLOCK},
                                    {"cpu_seconds", RLIMIT_CPU}};
  for (const Known& each : known) {
    if (each.name == name) return each.resource;
  }
  return std::nullopt;
}

Result<Shim> start_shim(const std::string& program, const std::string& key, const domain::BootId& boot) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Error{ErrorCode::retry, std::string("No gate could be made: ") + std::strerror(errno) + "."};
  }
  Fd ours(pair[0]);
  Fd theirs(pair[1]);
  pid_t pid = -1;
  const int failure = spawn(program, key, theirs.get(), pid);
  if (failure != 0) {
    return Error{failure == EAGAIN || failure == ENOMEM ? ErrorCode::retry : ErrorCode::invalid,
                 "The supervisor " + program + " could not be started: " + std::strerror(failure) + "."};
  }
  // Nobody but this room reaps it, so the number is still its own.
  auto opened = open_pid(pid);
  auto token = start_token(pid);
  if (!opened || !*opened || !token) {
    theirs.reset();
    ours.reset();  // it ends by itself at the closed gate
    if (opened && *opened) ended(**opened, kill_wait);
    return Error{ErrorCode::retry, "The supervisor of " + key + " could not be examined after its start."};
  }
  return Shim{ProcessIdentity{pid, *token, boot}, std::move(**opened), Gate(std::move(ours))};
}

void discard(const Shim& shim) {
  static_cast<void>(signal(shim.pidfd, SIGKILL));
  ended(shim.pidfd, kill_wait);
}

Result<void> check_spec(const Spec& spec) {
  const auto invalid = [](std::string message) { return Error{ErrorCode::invalid, std::move(message)}; };
  auto key = check_key(spec.key);
  if (!key) return key;
  if (spec.argv.empty() || spec.argv.size() > wire::max_arguments || spec.argv.front().empty() ||
      spec.argv.front().front() != '/') {
    return invalid("A process needs 1 to 256 arguments, the first an absolute path.");
  }
  if (spec.directory.empty() || spec.directory.front() != '/' || has_zero(spec.directory)) {
    return invalid("A process needs an absolute directory to run in.");
  }
  if (std::any_of(spec.argv.begin(), spec.argv.end(), has_zero)) {
    return invalid("An argument of a process holds a zero byte.");
  }
  if (spec.environment.size() > wire::max_environment) {
    return invalid("A process may have at most 2048 environment variables.");
  }
  for (const std::string& entry : spec.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos || has_zero(entry)) {
      return invalid("An environment entry is not of the form KEY=VALUE.");
    }
  }
  if (spec.uid.has_value() != spec.gid.has_value()) {
    return invalid("A process must be given a user and a group together, or neither.");
  }
  if (const char* wrong = wrong_containment(spec)) return invalid(wrong);
  return {};
}

}  // namespace agent::process
