// The process service of a test host: the rules, before a script or real processes do the work.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "rmgr/host.hpp"
#include "rmgr/testing/world.hpp"

namespace rmgr::testing::detail {

class ProcessService {
 public:
  explicit ProcessService(World& world)
      : service_{rmgr::detail::size_of<rmgr_process_service>(),
                 0,
                 &world,
                 &spawn_held,
                 &release,
                 &inspect,
                 &stop,
                 &forget,
                 &abilities} {}
  ProcessService(const ProcessService&) = delete;
  ProcessService& operator=(const ProcessService&) = delete;
  [[nodiscard]] const rmgr_process_service* service() const { return &service_; }

 private:
  static rmgr_status wrong(World& world, const rmgr_error* error, std::string_view what) {
    world.record.violation("process service", what);
    rmgr::detail::explain(error, "The process service was asked wrongly: " + std::string(what) + ".",
                          Millis{0});
    return RMGR_E_INVALID;
  }
  static bool usable(rmgr_str key) { return key.data != nullptr && key.size > 0 && key.size <= 128; }
  static bool usable(const rmgr_process_identity* who) {
    return who != nullptr && who->struct_size >= sizeof(rmgr_process_identity) && who->pid > 0;
  }
  // What every function but forget begins with; a sentence if something is wrong.
  static const char* mistake(World& world, const rmgr_call* call, rmgr_str key) {
    if (call == nullptr || !world.is_open(call)) return "the context is not that of a running call";
    return usable(key) ? nullptr : "the key is empty or too long";
  }
  static bool account(std::int64_t in, std::optional<std::uint32_t>& out) {
    if (in == -1) return true;
    if (in < 0 || in >= std::int64_t{std::numeric_limits<std::uint32_t>::max()}) return false;
    out = static_cast<std::uint32_t>(in);
    return true;
  }
  static bool copy(World& world, const rmgr_str* from, std::size_t count, std::vector<std::string>& to) {
    if (count > 1024 || (count > 0 && from == nullptr)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (!world.record.check_text("process service", from[i])) return false;
      to.emplace_back(from_abi(from[i]));
      if (to.back().find('\0') != std::string::npos) return false;
    }
    return true;
  }

  static ProcessSpec copy_spec(World& world, const rmgr_process_spec& spec) {
    ProcessSpec wanted;
    wanted.key = from_abi(spec.key);
    wanted.directory = from_abi(spec.directory);
    wanted.time_limit = Millis{spec.time_limit_ms};
    const bool sound = copy(world, spec.argv, spec.argc, wanted.argv) &&
                       copy(world, spec.environment, spec.environment_count, wanted.environment) &&
                       account(spec.uid, wanted.uid) && account(spec.gid, wanted.gid) &&
                       !wanted.argv.empty() && wanted.argv.front().starts_with('/') &&
                       wanted.directory.starts_with('/');
    if (sound && copy_containment(world, spec, wanted)) return wanted;
    world.record.violation("process service", "arguments, environment, directory or account are unusable");
    throw Error(Status::invalid, "The process service was asked for an unusable process.");
  }

  static bool copy_containment(World& world, const rmgr_process_spec& spec, ProcessSpec& wanted) {
    wanted.cpu_milli = spec.cpu_milli;
    wanted.memory_bytes = spec.memory_bytes;
    wanted.pids = spec.pids;
    wanted.nice = spec.nice;
    wanted.no_new_privileges = (spec.flags & RMGR_PROCESS_NO_NEW_PRIVILEGES) != 0;
    if (spec.cpu_milli < 0 || spec.memory_bytes < 0 || spec.pids < 0 || spec.nice < -20 || spec.nice > 19 ||
        (spec.flags & ~RMGR_PROCESS_NO_NEW_PRIVILEGES) != 0 || spec.resource_limit_count > 16 ||
        (spec.resource_limit_count > 0 && spec.resource_limits == nullptr) ||
        spec.hidden_directory_count > 64 || spec.private_directory_count > 64 ||
        (spec.private_directory_count > 0 && spec.private_directories == nullptr))
      return false;
    for (std::size_t i = 0; i < spec.resource_limit_count; ++i) {
      std::vector<std::string> name;
      if (!copy(world, &spec.resource_limits[i].name, 1, name)) return false;
      wanted.resource_limits.push_back({std::move(name.front()), spec.resource_limits[i].value});
    }
    if (!copy(world, spec.hidden_directories, spec.hidden_directory_count, wanted.hidden_directories))
      return false;
    for (std::size_t i = 0; i < spec.private_directory_count; ++i) {
      std::vector<std::string> paths;
      if (!copy(world, &spec.private_directories[i].target, 1, paths) ||
          !copy(world, &spec.private_directories[i].backing, 1, paths) || !paths[0].starts_with('/'))
        return false;
      wanted.private_directories.push_back({std::move(paths[0]), std::move(paths[1])});
    }
    return true;
  }

  static std::uint32_t RMGR_CALL abilities(void* ctx) noexcept {
    return to_abi(static_cast<World*>(ctx)->processes->abilities());
  }

  static rmgr_status RMGR_CALL spawn_held(void* ctx, const rmgr_call* call, const rmgr_process_spec* spec,
                                          const rmgr_identity_sink* sink, const rmgr_error* error) noexcept {
    World& world = *static_cast<World*>(ctx);
    if (spec == nullptr || spec->struct_size < sizeof(rmgr_process_spec) || sink == nullptr)
      return wrong(world, error, "the specification is incomplete");
    if (const char* what = mistake(world, call, spec->key)) return wrong(world, error, what);
    // cppcheck-suppress throwInNoexceptFunction ; nothing leaves the guard
    return rmgr::detail::guard(error, [&] {
      const ProcessSpec wanted = copy_spec(world, *spec);
      const ProcessIdentity identity = world.processes->spawn_held(wanted);
      const rmgr_process_identity item = to_abi(identity);
      rmgr::detail::expect_taken(sink->write(sink->ctx, &item));
    });
  }

  static rmgr_status RMGR_CALL release(void* ctx, const rmgr_call* call, rmgr_str key,
                                       const rmgr_process_identity* who, rmgr_str secret_name,
                                       rmgr_secret secret, const rmgr_error* error) noexcept {
    World& world = *static_cast<World*>(ctx);
    if (const char* what = mistake(world, call, key)) return wrong(world, error, what);
    if (!usable(who) || secret.size > RMGR_SECRET_MAX || secret_name.size == 0)
      return wrong(world, error, "identity, name or secret is unusable");
    return rmgr::detail::guard(error, [&] {
      {
        const std::lock_guard lock(world.mutex);
        if (!world.released.insert(std::string(from_abi(key))).second)
          world.record.violation("process service", "one key was released twice");
      }
      world.processes->release(from_abi(key), from_abi(*who), from_abi(secret_name), SecretView(secret));
    });
  }

  static rmgr_status RMGR_CALL inspect(void* ctx, const rmgr_call* call, rmgr_str key,
                                       const rmgr_process_identity* who, rmgr_process_state* state,
                                       const rmgr_error* error) noexcept {
    World& world = *static_cast<World*>(ctx);
    if (const char* what = mistake(world, call, key)) return wrong(world, error, what);
    if (!usable(who) || state == nullptr || state->struct_size < sizeof(rmgr_process_state))
      return wrong(world, error, "identity or state is unusable");
    return rmgr::detail::guard(error, [&] {
      const ProcessState seen = world.processes->inspect(from_abi(key), from_abi(*who));
      state->state = static_cast<std::int32_t>(seen.status);
      state->exit_code = seen.exit_code;
      state->signal = seen.signal;
      state->out_of_memory = seen.out_of_memory ? 1 : 0;
    });
  }

  static rmgr_status RMGR_CALL stop(void* ctx, const rmgr_call* call, rmgr_str key,
                                    const rmgr_process_identity* who, std::int64_t grace_ms,
                                    const rmgr_error* error) noexcept {
    World& world = *static_cast<World*>(ctx);
    if (const char* what = mistake(world, call, key)) return wrong(world, error, what);
    if (!usable(who)) return wrong(world, error, "the identity is unusable");
    return rmgr::detail::guard(
        error, [&] { world.processes->stop(from_abi(key), from_abi(*who), Millis{grace_ms}); });
  }

  static rmgr_status RMGR_CALL forget(void* ctx, rmgr_str key, const rmgr_error* error) noexcept {
    World& world = *static_cast<World*>(ctx);
    if (!usable(key)) return wrong(world, error, "the key is empty or too long");
    return rmgr::detail::guard(error, [&] { world.processes->forget(from_abi(key)); });
  }

  rmgr_process_service service_;
};

}  // namespace rmgr::testing::detail
