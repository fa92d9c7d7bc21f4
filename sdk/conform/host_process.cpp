// process: held children that outlive the process that asked for them, as far as the suite needs them. The
// supervisor (supervisor.cpp) is the same program in a role of its own.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "conform/host.hpp"
#include "conform/json.hpp"
#include "conform/processes.hpp"

namespace rmgr::conform {
namespace {

namespace fs = std::filesystem;

Host& of(void* ctx) { return *static_cast<Host*>(ctx); }

fs::path folder(void* ctx, std::string_view key) { return fs::path(of(ctx).directory()) / "process" / key; }

// Our ends of the pipes to supervisors that are still held, by key. Lost with this process, which is the
// point.
struct Gate {
  int to = -1;
  int from = -1;
};
std::mutex gates_mutex;
std::map<std::string, Gate>& gates() {
  static auto& all = *new std::map<std::string, Gate>;
  return all;
}

void close_gate(Gate& gate) {
  ::close(gate.to);
  ::close(gate.from);
}

bool write_frame(int fd, std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string frame(reinterpret_cast<const char*>(&size), sizeof size);
  frame += bytes;
  const ssize_t wrote = ::write(fd, frame.data(), frame.size());
  std::fill(frame.begin(), frame.end(), '\0');
  return wrote == static_cast<ssize_t>(frame.size());
}

std::string read_line(int fd) {
  std::string line;
  for (char c = 0; line.size() < 256;) {
    pollfd waiting{fd, POLLIN, 0};
    if (::poll(&waiting, 1, 10'000) <= 0 || ::read(fd, &c, 1) != 1) return {};
    if (c == '\n') return line;
    line += c;
  }
  return {};
}

bool start_supervisor(const std::string& program, const std::string& directory, Gate& gate) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0) return false;
  if (::pipe2(out.data(), O_CLOEXEC) != 0) {
    ::close(in[0]);
    ::close(in[1]);
    return false;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  std::string name = program;
  std::string role = "--supervise";
  std::string where = directory;
  const std::array<char*, 4> argv{name.data(), role.data(), where.data(), nullptr};
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  gate = {in[1], out[0]};
  if (failed != 0) return false;
  // It forks once more and leaves, so that the supervisor is nobody's child here.
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return true;
}

Json spec_json(const rmgr_process_spec& spec) {
  Json json = Json::object();
  const auto list = [](const rmgr_str* texts, std::size_t count) {
    Json array = Json::array();
    for (std::size_t i = 0; i < count; ++i)
      array.push(Json::text(from_abi(texts[i])));
    return array;
  };
  json.set("argv", list(spec.argv, spec.argc));
  json.set("environment", list(spec.environment, spec.environment_count));
  json.set("directory", Json::text(from_abi(spec.directory)));
  json.set("uid", Json::integer(spec.uid));
  json.set("gid", Json::integer(spec.gid));
  return json;
}

// What the plugin hands to the service must not hold a secret either: arguments can be read by everybody.
void hear(const rmgr_process_spec& spec) {
  for (std::size_t i = 0; i < spec.argc; ++i)
    witness().heard(from_abi(spec.argv[i]), "an argument of a process");
  for (std::size_t i = 0; i < spec.environment_count; ++i)
    witness().heard(from_abi(spec.environment[i]), "the environment of a process");
}

template <class Fn>
rmgr_status guarded(void* ctx, const rmgr_error* error, Fn&& fn) noexcept {
  try {
    const rmgr_status broken = of(ctx).use("process");
    return broken == RMGR_OK ? fn() : explain(error, broken, "The process service cannot tell now.");
  } catch (const std::exception& failure) {
    return explain(error, RMGR_E_RETRY, failure.what());
  }
}

bool usable(std::string_view key) {
  return !key.empty() && key.size() <= 128 && key.find('/') == std::string_view::npos && key[0] != '.';
}

rmgr_status RMGR_CALL spawn_held(void* ctx, const rmgr_call* call, const rmgr_process_spec* spec,
                                 const rmgr_identity_sink* sink, const rmgr_error* error) noexcept {
  return guarded(ctx, error, [&]() -> rmgr_status {
    if (call == nullptr || spec == nullptr || sink == nullptr || spec->argc == 0 ||
        !usable(from_abi(spec->key)) || !from_abi(spec->argv[0]).starts_with('/'))
      return explain(error, RMGR_E_INVALID,
                     "The process service was asked wrongly: the specification is incomplete.");
    if (spec->cpu_milli != 0 || spec->memory_bytes != 0 || spec->pids != 0 ||
        spec->hidden_directory_count != 0 || spec->private_directory_count != 0)
      return explain(
          error, RMGR_E_UNSUPPORTED,
          "Processes of the suite have no limits and no directories of their own, as `abilities` says.");
    hear(*spec);
    const fs::path directory = folder(ctx, from_abi(spec->key));
    fs::create_directories(directory);
    Gate gate;
    if (!start_supervisor(of(ctx).program(), directory.string(), gate))
      return explain(error, RMGR_E_RETRY, "The supervisor cannot be started.");
    std::int64_t pid = 0;
    if (write_frame(gate.to, spec_json(*spec).dump())) {
      const std::string line = read_line(gate.from);
      if (line.starts_with("held ")) std::from_chars(line.data() + 5, line.data() + line.size(), pid);
    }
    const auto token = start_token(pid);
    if (pid <= 0 || !token) {
      close_gate(gate);
      return explain(error, RMGR_E_RETRY, "The supervisor did not report.");
    }
    {
      const std::lock_guard lock(gates_mutex);
      Gate& known = gates()[std::string(from_abi(spec->key))];
      if (known.to >= 0) close_gate(known);
      known = gate;
    }
    const std::string boot = boot_id();
    const rmgr_process_identity* item =
        shaped(rmgr_process_identity{sizeof(rmgr_process_identity), 0, pid, *token, to_abi(boot)});
    return sink->write(sink->ctx, item);
  });
}

bool alive(const rmgr_process_identity& identity) {
  if (from_abi(identity.boot_id) != boot_id()) return false;
  const auto token = start_token(identity.pid);
  return token && *token == identity.start_token;
}

rmgr_status RMGR_CALL release(void* ctx, const rmgr_call* /*call*/, rmgr_str key,
                              const rmgr_process_identity* identity, rmgr_str secret_name, rmgr_secret secret,
                              const rmgr_error* error) noexcept {
  return guarded(ctx, error, [&]() -> rmgr_status {
    if (identity == nullptr || !usable(from_abi(key)))
      return explain(error, RMGR_E_INVALID,
                     "The process service was asked wrongly: key or identity is unusable.");
    Gate gate;
    {
      const std::lock_guard lock(gates_mutex);
      const auto found = gates().find(std::string(from_abi(key)));
      if (found != gates().end()) {
        gate = found->second;
        gates().erase(found);
      }
    }
    if (gate.to < 0 || !alive(*identity)) {
      if (gate.to >= 0) close_gate(gate);
      return explain(error, RMGR_E_NOT_FOUND, "There is no held process of that key.");
    }
    std::string entry(from_abi(secret_name));
    entry += '=';
    entry.append(secret.bytes == nullptr ? "" : secret.bytes, secret.size);
    const bool sent = write_frame(gate.to, entry);
    std::fill(entry.begin(), entry.end(), '\0');
    const std::string line = sent ? read_line(gate.from) : "";
    close_gate(gate);
    if (line == "started") return RMGR_OK;
    if (line == "failed")
      return explain(error, RMGR_E_INVALID, "The program cannot be executed; nothing ran.");
    return explain(error, RMGR_E_UNREACHABLE, "The supervisor did not answer; a process may have existed.");
  });
}

rmgr_status RMGR_CALL inspect(void* ctx, const rmgr_call* /*call*/, rmgr_str key,
                              const rmgr_process_identity* identity, rmgr_process_state* state,
                              const rmgr_error* error) noexcept {
  return guarded(ctx, error, [&]() -> rmgr_status {
    if (identity == nullptr || state == nullptr || !usable(from_abi(key)))
      return explain(error, RMGR_E_INVALID,
                     "The process service was asked wrongly: key or identity is unusable.");
    const fs::path directory = folder(ctx, from_abi(key));
    const bool living = alive(*identity);  // before the record, which is written before the end
    const bool released = fs::exists(directory / "released");
    std::ifstream record(directory / "exit");
    int code = 0;
    int signal = 0;
    if (living) {
      state->state = released ? RMGR_PROCESS_RUNNING : RMGR_PROCESS_PREPARED;
    } else if (record >> code >> signal) {
      state->state = RMGR_PROCESS_EXITED;
      state->exit_code = code;
      state->signal = signal;
      state->out_of_memory = 0;
    } else if (released) {
      return explain(error, RMGR_E_RETRY, "What became of the process cannot be proven.");
    } else {
      state->state = RMGR_PROCESS_MISSING;
    }
    return RMGR_OK;
  });
}

// True once it has gone; `status` says why the wait ended early.
bool wait_gone(const rmgr_call* call, const rmgr_process_identity& identity, Millis patience,
               rmgr_status& status) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (alive(identity)) {
    if (call->remaining_ms(call->ctx) <= 0)
      status = RMGR_E_DEADLINE;
    else if (call->requested(call->ctx) != 0)
      status = RMGR_E_CANCELLED;
    if (status != RMGR_OK || std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(Millis(5));
  }
  return true;
}

rmgr_status RMGR_CALL stop(void* ctx, const rmgr_call* call, rmgr_str key,
                           const rmgr_process_identity* identity, std::int64_t grace_ms,
                           const rmgr_error* error) noexcept {
  return guarded(ctx, error, [&]() -> rmgr_status {
    if (call == nullptr || identity == nullptr || identity->pid <= 0 || !usable(from_abi(key)))
      return explain(error, RMGR_E_INVALID,
                     "The process service was asked wrongly: key or identity is unusable.");
    if (!alive(*identity)) return RMGR_OK;
    rmgr_status status = RMGR_OK;
    const auto pid = static_cast<pid_t>(identity->pid);
    if (grace_ms > 0) {
      ::kill(pid, SIGTERM);
      if (wait_gone(call, *identity, Millis(grace_ms), status)) return RMGR_OK;
      if (status != RMGR_OK) return explain(error, status, "Stopping ended early; it may still run.");
    }
    ::kill(pid, SIGUSR1);
    if (wait_gone(call, *identity, Millis(5'000), status)) return RMGR_OK;
    return explain(error, status == RMGR_OK ? RMGR_E_BUSY : status, "It still runs.");
  });
}

rmgr_status RMGR_CALL forget(void* ctx, rmgr_str key, const rmgr_error* error) noexcept {
  return guarded(ctx, error, [&]() -> rmgr_status {
    if (!usable(from_abi(key))) return explain(error, RMGR_E_INVALID, "The key is unusable.");
    {
      const std::lock_guard lock(gates_mutex);
      const auto found = gates().find(std::string(from_abi(key)));
      if (found != gates().end()) {
        close_gate(found->second);
        gates().erase(found);
      }
    }
    std::error_code ignored;
    fs::remove_all(folder(ctx, from_abi(key)), ignored);
    return RMGR_OK;
  });
}

// None: nothing contains the processes of a test.
std::uint32_t RMGR_CALL abilities(void* /*ctx*/) noexcept { return 0; }

}  // namespace

rmgr_process_service process_service(Host* host) {
  return {sizeof(rmgr_process_service), 0, host, &spawn_held, &release, &inspect, &stop, &forget, &abilities};
}

}  // namespace rmgr::conform
