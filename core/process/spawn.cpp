#include "process/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
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

}  // namespace

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
  return {};
}

}  // namespace agent::process
