// A provider runs one attempt: as a native process, in a container, in a virtual machine. Derive from
// rmgr::ExecutionProvider; see component.hpp for what else the class needs.
//
// Life of one attempt:  prepare -> [hold ->] start -> inspect ... -> stop -> remove
// The daemon may crash between any two; afterwards only inspect, recover, stop and remove are called for the
// attempt. Every operation but start must be idempotent for one (attempt, generation). Throw rmgr::Error to
// fail.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rmgr/abi/execution_provider.h"
#include "rmgr/abi/warm_start.h"
#include "rmgr/component.hpp"

namespace rmgr {

// Views in arguments live as long as the call.

// What a policy asks for. Zero or empty means "no wish".
struct Profile {
  std::string_view policy;
  std::string_view image;
  std::int64_t cpu_milli = 0;  // thousandths of one processor
  std::int64_t memory_bytes = 0;
  std::int64_t disk_bytes = 0;
  std::int64_t pids = 0;
};

// The attempt that a call is about. The first five members are its identity and never change for one attempt.
struct Allocation {
  std::string_view host;        // installation id of the daemon
  std::string_view attempt;     // UUID
  std::string_view generation;  // 32 hex digits, minted with the attempt
  std::string_view image;       // digest-pinned; empty for native
  std::string_view policy;
  std::string_view runner_name;
  std::string_view runtime;                // absolute directory of the attempt
  std::string_view package;                // the unpacked runner package
  std::string_view environment;            // what prepare returned; empty before
  std::optional<ProcessIdentity> process;  // what hold returned; nothing before
  Profile profile;
  Millis stop_grace{0};
};

enum class Readiness : std::int32_t {
  ready = RMGR_PROBE_READY,
  unsupported = RMGR_PROBE_UNSUPPORTED,
  not_installed = RMGR_PROBE_NOT_INSTALLED,
  permission_denied = RMGR_PROBE_PERMISSION_DENIED,
  image_unavailable = RMGR_PROBE_IMAGE_UNAVAILABLE,
  disk_quota_unavailable = RMGR_PROBE_DISK_QUOTA_UNAVAILABLE,
  degraded = RMGR_PROBE_DEGRADED,
};
struct Probe {
  Readiness readiness = Readiness::ready;  // only ready admits launches
  std::string remedy;                      // one sentence; empty when ready
  std::string note;                        // what the operator should know although it is ready
  bool package_inside = false;             // the environment has the runner package already
};

enum class EnvironmentStatus : std::int32_t {
  prepared = RMGR_ENVIRONMENT_PREPARED,  // exists and never ran
  starting = RMGR_ENVIRONMENT_STARTING,
  running = RMGR_ENVIRONMENT_RUNNING,
  exited = RMGR_ENVIRONMENT_EXITED,
  missing = RMGR_ENVIRONMENT_MISSING,  // provably not there; a failed look is an Error instead
};
struct EnvironmentState {
  EnvironmentStatus status = EnvironmentStatus::missing;
  std::int32_t exit_code = 0;  // of the listener, when exited; -1 if it was ended by a signal
  bool clean = false;          // the listener itself exited with 0
  bool out_of_memory = false;
};

// How start went, also when it throws. It begins as "a process may have existed", so a failure that is
// certain to have started nothing should say so.
struct StartResult {
  bool process_existed = true;  // the secret may have been used, so it is never tried again
  std::int64_t live_pid = 0;    // above 0: a process that clean-up could not prove dead
};

// An identity that a resource itself carries (a label, an owner file), never one that was guessed from a
// name.
struct Owned {
  std::string host;
  std::string attempt;
  std::string generation;
  std::string image;
  std::string environment;
};

class ExecutionProvider {
 public:
  virtual ~ExecutionProvider() = default;

  // --- ordinary lane
  // Able to run that profile right now? Cheap and without side effects.
  virtual Probe probe(const Call& call, const Profile& profile) = 0;
  // Isolated providers answer the digest-pinned image for the profile.
  virtual std::optional<std::string> resolve(const Call& /*call*/, const Profile& /*profile*/) {
    return std::nullopt;
  }
  // Creates or validates everything but the running listener; answers the environment id if there is one.
  virtual std::optional<std::string> prepare(const Call& call, const Allocation& allocation) = 0;
  // Only with RMGR_PROVIDER_HOLDS: makes the held process and answers its identity.
  virtual ProcessIdentity hold(const Call& /*call*/, const Allocation& /*allocation*/) {
    throw Error(Status::unsupported, "This provider does not hold processes.");
  }
  // Starts the listener with the one-time secret, once. Keep no copy of the secret.
  virtual void start(const Call& call, const Allocation& allocation, SecretView jit_config,
                     StartResult& result) = 0;

  // --- control lane
  virtual EnvironmentState inspect(const Call& call, const Allocation& allocation) = 0;
  // The environments that carry the identity of an allocation whose environment id is not known.
  virtual std::vector<Owned> recover(const Call& /*call*/, const Allocation& /*allocation*/) { return {}; }
  // Returns when it provably does not run; throws `busy` when it still does.
  virtual void stop(const Call& call, const Allocation& allocation, Millis grace) = 0;
  // Returns when nothing is left (also if nothing was there); throws `retry` with the reason when deferred.
  // With a retry-after it is called again that much later, otherwise after 30 s, 60 s and so on.
  virtual void remove(const Call& call, const Allocation& allocation) = 0;
  // Everything that carries this host id. The list must be complete: throw when any part of it could not be
  // read.
  virtual std::vector<Owned> enumerate_owned(const Call& /*call*/, std::string_view /*host*/) { return {}; }
  // Does the resource `environment` carry exactly the allocation's identity?
  virtual bool owns(const Call& /*call*/, const Allocation& /*allocation*/,
                    std::string_view /*environment*/) {
    return false;
  }
  // Up to 16 lines of a closed vocabulary of the provider's own, for the record of a failed attempt.
  virtual std::vector<std::string> diagnostics(const Call& /*call*/, const Allocation& /*allocation*/) {
    return {};
  }
};

// For a provider that can have environments wait, nearly started; derive from it beside ExecutionProvider.
// What is warm ends by itself, without a listener, when this process ends.
class WarmStart {
 public:
  virtual ~WarmStart() = default;
  // Ordinary lane, after prepare: everything of start that needs no secret. Idempotent. Until start, inspect
  // says `prepared` while it waits. Throws `unsupported` where the configuration does not allow it.
  virtual void warm(const Call& call, const Allocation& allocation) = 0;
};

namespace detail {

inline Profile profile_from(const rmgr_profile& in) noexcept {
  return {from_abi(in.policy), from_abi(in.image), in.cpu_milli, in.memory_bytes, in.disk_bytes, in.pids};
}

inline Allocation allocation_from(const rmgr_allocation& in) {
  Allocation out;
  out.host = from_abi(in.host);
  out.attempt = from_abi(in.attempt);
  out.generation = from_abi(in.generation);
  out.image = from_abi(in.image);
  out.policy = from_abi(in.policy);
  out.runner_name = from_abi(in.runner_name);
  out.runtime = from_abi(in.runtime);
  out.package = from_abi(in.package);
  out.environment = from_abi(in.environment);
  if (in.process.pid != 0) out.process = from_abi(in.process);
  out.profile = profile_from(in.profile);
  out.stop_grace = Millis{in.stop_grace_ms};
  return out;
}

inline void write_all(const rmgr_owned_sink* sink, const std::vector<Owned>& owned) {
  for (const Owned& one : owned) {
    const rmgr_owned item{size_of<rmgr_owned>(),  0,
                          to_abi(one.host),       to_abi(one.attempt),
                          to_abi(one.generation), to_abi(one.image),
                          to_abi(one.environment)};
    expect_taken(sink->write(sink->ctx, &item));
  }
}

struct ProviderCalls {
  static ExecutionProvider& of(rmgr_instance* self) noexcept { return instance<ExecutionProvider>(self); }

  static rmgr_status RMGR_CALL probe(rmgr_instance* self, const rmgr_call* call, const rmgr_profile* profile,
                                     const rmgr_probe_sink* sink, const rmgr_error* error) noexcept {
    return guard(error, [&] {
      const Probe answer = of(self).probe(Call(call), profile_from(*profile));
      const rmgr_probe item{size_of<rmgr_probe>(),         static_cast<std::int32_t>(answer.readiness),
                            to_abi(answer.remedy),         to_abi(answer.note),
                            answer.package_inside ? 1 : 0, 0};
      expect_taken(sink->write(sink->ctx, &item));
    });
  }
  static rmgr_status RMGR_CALL resolve(rmgr_instance* self, const rmgr_call* call,
                                       const rmgr_profile* profile, const rmgr_text_sink* sink,
                                       const rmgr_error* error) noexcept {
    return guard(error, [&] {
      const auto image = of(self).resolve(Call(call), profile_from(*profile));
      if (image) expect_taken(sink->write(sink->ctx, to_abi(*image)));
    });
  }
  static rmgr_status RMGR_CALL prepare(rmgr_instance* self, const rmgr_call* call,
                                       const rmgr_allocation* allocation, const rmgr_text_sink* sink,
                                       const rmgr_error* error) noexcept {
    return guard(error, [&] {
      const auto environment = of(self).prepare(Call(call), allocation_from(*allocation));
      if (environment) expect_taken(sink->write(sink->ctx, to_abi(*environment)));
    });
  }
  static rmgr_status RMGR_CALL hold(rmgr_instance* self, const rmgr_call* call,
                                    const rmgr_allocation* allocation, const rmgr_identity_sink* sink,
                                    const rmgr_error* error) noexcept {
    return guard(error, [&] {
      const ProcessIdentity identity = of(self).hold(Call(call), allocation_from(*allocation));
      const rmgr_process_identity item = to_abi(identity);
      expect_taken(sink->write(sink->ctx, &item));
    });
  }
  static rmgr_status RMGR_CALL start(rmgr_instance* self, const rmgr_call* call,
                                     const rmgr_allocation* allocation, rmgr_secret secret,
                                     rmgr_start_result* result, const rmgr_error* error) noexcept {
    StartResult answer;
    const rmgr_status status = guard(
        error, [&] { of(self).start(Call(call), allocation_from(*allocation), SecretView(secret), answer); });
    result->process_existed = answer.process_existed ? 1 : 0;
    result->live_pid = answer.live_pid;
    return status;
  }
  static rmgr_status RMGR_CALL inspect(rmgr_instance* self, const rmgr_call* call,
                                       const rmgr_allocation* allocation, rmgr_environment_state* state,
                                       const rmgr_error* error) noexcept {
    return guard(error, [&] {
      const EnvironmentState answer = of(self).inspect(Call(call), allocation_from(*allocation));
      state->state = static_cast<std::int32_t>(answer.status);
      state->exit_code = answer.exit_code;
      state->clean = answer.clean ? 1 : 0;
      state->out_of_memory = answer.out_of_memory ? 1 : 0;
    });
  }
  static rmgr_status RMGR_CALL recover(rmgr_instance* self, const rmgr_call* call,
                                       const rmgr_allocation* allocation, const rmgr_owned_sink* sink,
                                       const rmgr_error* error) noexcept {
    return guard(error, [&] { write_all(sink, of(self).recover(Call(call), allocation_from(*allocation))); });
  }
  static rmgr_status RMGR_CALL stop(rmgr_instance* self, const rmgr_call* call,
                                    const rmgr_allocation* allocation, std::int64_t grace_ms,
                                    const rmgr_error* error) noexcept {
    return guard(error, [&] { of(self).stop(Call(call), allocation_from(*allocation), Millis{grace_ms}); });
  }
  static rmgr_status RMGR_CALL remove(rmgr_instance* self, const rmgr_call* call,
                                      const rmgr_allocation* allocation, const rmgr_error* error) noexcept {
    return guard(error, [&] { of(self).remove(Call(call), allocation_from(*allocation)); });
  }
  static rmgr_status RMGR_CALL enumerate_owned(rmgr_instance* self, const rmgr_call* call, rmgr_str host,
                                               const rmgr_owned_sink* sink,
                                               const rmgr_error* error) noexcept {
    return guard(error, [&] { write_all(sink, of(self).enumerate_owned(Call(call), from_abi(host))); });
  }
  static std::int32_t RMGR_CALL owns(rmgr_instance* self, const rmgr_call* call,
                                     const rmgr_allocation* allocation, rmgr_str environment) noexcept {
    bool answer = false;
    const rmgr_status status = guard(nullptr, [&] {
      answer = of(self).owns(Call(call), allocation_from(*allocation), from_abi(environment));
    });
    return status == RMGR_OK && answer ? 1 : 0;
  }
  static rmgr_status RMGR_CALL diagnostics(rmgr_instance* self, const rmgr_call* call,
                                           const rmgr_allocation* allocation, const rmgr_text_sink* sink,
                                           const rmgr_error* error) noexcept {
    return guard(error, [&] {
      for (const std::string& line : of(self).diagnostics(Call(call), allocation_from(*allocation)))
        expect_taken(sink->write(sink->ctx, to_abi(line)));
    });
  }
};

template <class T>
inline constexpr rmgr_execution_provider execution_provider_table{
    component<T, ExecutionProvider, rmgr_execution_provider>(),
    &ProviderCalls::probe,
    &ProviderCalls::resolve,
    &ProviderCalls::prepare,
    &ProviderCalls::hold,
    &ProviderCalls::start,
    &ProviderCalls::inspect,
    &ProviderCalls::recover,
    &ProviderCalls::stop,
    &ProviderCalls::remove,
    &ProviderCalls::enumerate_owned,
    &ProviderCalls::owns,
    &ProviderCalls::diagnostics,
};

template <class T>
struct WarmCalls {
  static rmgr_status RMGR_CALL warm(rmgr_instance* self, const rmgr_call* call,
                                    const rmgr_allocation* allocation, const rmgr_error* error) noexcept {
    return guard(error, [&] {
      static_cast<T&>(ProviderCalls::of(self)).warm(Call(call), allocation_from(*allocation));
    });
  }
};
template <class T>
inline constexpr rmgr_warm_start warm_start_table{size_of<rmgr_warm_start>(), 0, &WarmCalls<T>::warm};

}  // namespace detail
}  // namespace rmgr
