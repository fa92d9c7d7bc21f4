// process: held children that outlive the daemon.
#include <algorithm>
#include <limits>
#include <optional>

#include "plugin/crash_note.hpp"
#include "plugin/gate.hpp"
#include "plugin/services.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::ProcessIdentity;

constexpr std::size_t most_arguments = 1024;
constexpr std::size_t most_key = 128;

Services& of(void* ctx) { return *static_cast<Services*>(ctx); }

Error bad_request(const std::string& what) {
  return {ErrorCode::invalid, "The process service was asked wrongly: " + what + ".", {}};
}

// Runs `use` (answering a status) with the port and the call that the plugin handed back.
template <class Use>
rmgr_status with_port(void* ctx, const rmgr_call* context, const rmgr_error* error, Use&& use) noexcept {
  return at_boundary([&]() -> rmgr_status {
    rmgr_status status = RMGR_E_UNSUPPORTED;
    of(ctx).ports().with_process([&](ProcessPort& port) {
      if (!Gate::with_call(context, [&](Call& call) { status = use(port, call); }))
        status = explain(error, bad_request("the call context is not that of a running call"));
    });
    return status;
  });
}

bool usable_key(rmgr_str key) { return key.size > 0 && key.size <= most_key && is_utf8(view_of(key)); }

// Texts that become C strings: no zero byte inside.
bool copy_texts(const rmgr_str* from, std::size_t count, std::vector<std::string>& to) {
  if (count > most_arguments || (count > 0 && from == nullptr)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = view_of(from[i]);
    if (text.size() > most_text_bytes || text.find('\0') != std::string_view::npos) return false;
    to.emplace_back(text);
  }
  return true;
}

// False for what is no account; nothing in `to` for -1.
bool copy_account(std::int64_t from, std::optional<std::uint32_t>& to) {
  if (from == -1) return true;
  // The largest value means "leave as it is" to the kernel.
  if (from < 0 || from >= std::int64_t{std::numeric_limits<std::uint32_t>::max()}) return false;
  to = static_cast<std::uint32_t>(from);
  return true;
}

constexpr std::size_t most_directories = 64;
constexpr std::size_t most_resource_limits = 16;

// What contains the process; a sentence if something is wrong.
const char* copy_containment(const rmgr_process_spec& spec, ProcessRequest& request) {
  if (spec.cpu_milli < 0 || spec.memory_bytes < 0 || spec.pids < 0) return "a limit is less than nothing";
  request.cpu_milli = spec.cpu_milli;
  request.memory_bytes = spec.memory_bytes;
  request.pids = spec.pids;
  if (spec.nice < -20 || spec.nice > 19) return "nice must be between -20 and 19";
  request.nice = spec.nice;
  if ((spec.flags & ~RMGR_PROCESS_NO_NEW_PRIVILEGES) != 0) return "the flags are not known";
  request.no_new_privileges = (spec.flags & RMGR_PROCESS_NO_NEW_PRIVILEGES) != 0;
  if (spec.resource_limit_count > most_resource_limits ||
      (spec.resource_limit_count > 0 && spec.resource_limits == nullptr))
    return "there are too many resource limits, or none where some are announced";
  for (std::size_t i = 0; i < spec.resource_limit_count; ++i) {
    const rmgr_resource_limit& limit = spec.resource_limits[i];
    if (limit.struct_size < sizeof(rmgr_resource_limit) || limit.name.size > most_key)
      return "a resource limit is unusable";
    request.resource_limits.emplace_back(view_of(limit.name), limit.value);
  }
  if (spec.hidden_directory_count > most_directories ||
      !copy_texts(spec.hidden_directories, spec.hidden_directory_count, request.hidden_directories))
    return "the hidden directories must be at most 64 plain texts";
  if (spec.private_directory_count > most_directories ||
      (spec.private_directory_count > 0 && spec.private_directories == nullptr))
    return "there are too many private directories, or none where some are announced";
  for (std::size_t i = 0; i < spec.private_directory_count; ++i) {
    const rmgr_private_directory& directory = spec.private_directories[i];
    std::vector<std::string> texts;
    if (directory.struct_size < sizeof(rmgr_private_directory) || !copy_texts(&directory.target, 1, texts) ||
        !copy_texts(&directory.backing, 1, texts))
      return "a private directory is unusable";
    request.private_directories.emplace_back(std::move(texts[0]), std::move(texts[1]));
  }
  return nullptr;
}

std::optional<ProcessIdentity> identity_from(const rmgr_process_identity* in) {
  if (in == nullptr || in->struct_size < sizeof(rmgr_process_identity) || in->pid <= 0) return std::nullopt;
  return ProcessIdentity{in->pid, in->start_token, domain::BootId(std::string(view_of(in->boot_id)))};
}

rmgr_status RMGR_CALL spawn_held(void* ctx, const rmgr_call* context, const rmgr_process_spec* spec,
                                 const rmgr_identity_sink* sink, const rmgr_error* error) noexcept {
  return with_port(ctx, context, error, [&](ProcessPort& port, Call& call) -> rmgr_status {
    if (spec == nullptr || spec->struct_size < sizeof(rmgr_process_spec) || sink == nullptr ||
        !usable_key(spec->key))
      return explain(error, bad_request("the specification is incomplete"));
    ProcessRequest request;
    request.key = view_of(spec->key);
    request.directory = view_of(spec->directory);
    request.time_limit = domain::Millis{spec->time_limit_ms};
    if (!copy_texts(spec->argv, spec->argc, request.argv) || request.argv.empty() ||
        !request.argv.front().starts_with('/'))
      return explain(error, bad_request("the arguments must begin with an absolute path and be plain texts"));
    if (!copy_texts(spec->environment, spec->environment_count, request.environment))
      return explain(error, bad_request("the environment must consist of plain texts"));
    if (!copy_account(spec->uid, request.uid) || !copy_account(spec->gid, request.gid))
      return explain(error, bad_request("uid and gid must be -1 or an account's number"));
    if (const char* wrong = copy_containment(*spec, request)) return explain(error, bad_request(wrong));
    const auto identity = as_host([&] { return port.spawn_held(call, request); });
    if (!identity) return explain(error, identity.error());
    const rmgr_process_identity item{sizeof(rmgr_process_identity), 0, identity->pid, identity->start_token,
                                     to_abi(identity->boot_id.str())};
    return sink->write(sink->ctx, &item);
  });
}

rmgr_status RMGR_CALL release(void* ctx, const rmgr_call* context, rmgr_str key,
                              const rmgr_process_identity* identity, rmgr_str secret_name, rmgr_secret secret,
                              const rmgr_error* error) noexcept {
  return with_port(ctx, context, error, [&](ProcessPort& port, Call& call) -> rmgr_status {
    const auto who = identity_from(identity);
    if (!who || !usable_key(key) || secret.size > RMGR_SECRET_MAX ||
        (secret.size > 0 && secret.bytes == nullptr))
      return explain(error, bad_request("key, identity or secret is unusable"));
    const std::string_view value =
        secret.size == 0 ? std::string_view{} : std::string_view{secret.bytes, secret.size};
    const auto released =
        as_host([&] { return port.release(call, view_of(key), *who, view_of(secret_name), value); });
    return released ? RMGR_OK : explain(error, released.error());
  });
}

std::int32_t state_of(domain::EnvironmentView view) {
  switch (view) {
    case domain::EnvironmentView::prepared: return RMGR_PROCESS_PREPARED;
    case domain::EnvironmentView::starting:
    case domain::EnvironmentView::running: return RMGR_PROCESS_RUNNING;
    case domain::EnvironmentView::exited: return RMGR_PROCESS_EXITED;
    case domain::EnvironmentView::missing: return RMGR_PROCESS_MISSING;
    case domain::EnvironmentView::unknown: break;
  }
  return 0;
}

rmgr_status RMGR_CALL inspect(void* ctx, const rmgr_call* context, rmgr_str key,
                              const rmgr_process_identity* identity, rmgr_process_state* state,
                              const rmgr_error* error) noexcept {
  return with_port(ctx, context, error, [&](ProcessPort& port, Call& call) -> rmgr_status {
    const auto who = identity_from(identity);
    if (!who || !usable_key(key) || state == nullptr || state->struct_size < sizeof(rmgr_process_state))
      return explain(error, bad_request("key, identity or state is unusable"));
    int signal = 0;
    const auto seen = as_host([&] { return port.inspect(call, view_of(key), *who, signal); });
    if (!seen) return explain(error, seen.error());
    state->state = state_of(seen->view);
    if (state->state == 0)
      return explain(error,
                     {ErrorCode::retry, "What became of the process cannot be proven now; ask again.", {}});
    state->exit_code = static_cast<std::int32_t>(seen->exit_code.value_or(0));
    state->signal = signal;
    state->out_of_memory = seen->out_of_memory ? 1 : 0;
    return RMGR_OK;
  });
}

rmgr_status RMGR_CALL stop(void* ctx, const rmgr_call* context, rmgr_str key,
                           const rmgr_process_identity* identity, std::int64_t grace_ms,
                           const rmgr_error* error) noexcept {
  return with_port(ctx, context, error, [&](ProcessPort& port, Call& call) -> rmgr_status {
    const auto who = identity_from(identity);
    if (!who || !usable_key(key)) return explain(error, bad_request("key or identity is unusable"));
    // Never longer than the call may last, whatever was asked for.
    const domain::Millis grace{std::clamp(grace_ms, std::int64_t{0}, call.remaining().count())};
    const auto stopped = as_host([&] { return port.stop(call, view_of(key), *who, grace); });
    return stopped ? RMGR_OK : explain(error, stopped.error());
  });
}

rmgr_status RMGR_CALL forget(void* ctx, rmgr_str key, const rmgr_error* error) noexcept {
  return at_boundary([&]() -> rmgr_status {
    if (!usable_key(key)) return explain(error, bad_request("the key is unusable"));
    rmgr_status status = RMGR_E_UNSUPPORTED;
    of(ctx).ports().with_process([&](ProcessPort& port) {
      const auto forgotten = as_host([&] { return port.forget(view_of(key)); });
      status = forgotten ? RMGR_OK : explain(error, forgotten.error());
    });
    return status;
  });
}

std::uint32_t RMGR_CALL abilities(void* ctx) noexcept {
  std::uint32_t bits = 0;
  at_boundary([&]() -> rmgr_status {
    of(ctx).ports().with_process([&](ProcessPort& port) {
      const ProcessAbilities able = port.abilities();
      const auto add = [&bits](bool has, std::uint32_t bit) { bits |= has ? bit : 0; };
      add(able.group, RMGR_PROCESS_CAN_GROUP);
      add(able.limit_cpu, RMGR_PROCESS_CAN_LIMIT_CPU);
      add(able.limit_memory, RMGR_PROCESS_CAN_LIMIT_MEMORY);
      add(able.limit_pids, RMGR_PROCESS_CAN_LIMIT_PIDS);
      add(able.change_account, RMGR_PROCESS_CAN_CHANGE_ACCOUNT);
      add(able.arrange_directories, RMGR_PROCESS_CAN_ARRANGE_DIRECTORIES);
    });
    return RMGR_OK;
  });
  return bits;
}

}  // namespace

rmgr_process_service make_process_service(Services* services) {
  return {
      sizeof(rmgr_process_service), 0, services, &spawn_held, &release, &inspect, &stop, &forget, &abilities};
}

}  // namespace agent::plugin
