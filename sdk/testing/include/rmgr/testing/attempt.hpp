// An attempt as the daemon would describe it to a provider.
#pragma once

#include <optional>
#include <string>

#include "rmgr/execution_provider.hpp"

namespace rmgr::testing {

// Everything may be changed by a test before a call.
struct Attempt {
  std::string host, attempt, generation, image, policy, runner_name;
  std::string runtime;                     // exists, empty but for the package
  std::string package;                     // the unpacked runner package
  std::string environment;                 // set by prepare
  std::optional<ProcessIdentity> process;  // set by hold
  Profile profile;
  Millis stop_grace{1'000};
};

namespace detail {

// The C view; lives no longer than the attempt.
[[nodiscard]] inline rmgr_profile view(const Profile& profile) {
  return {rmgr::detail::size_of<rmgr_profile>(),
          0,
          to_abi(profile.policy),
          to_abi(profile.image),
          profile.cpu_milli,
          profile.memory_bytes,
          profile.disk_bytes,
          profile.pids};
}
[[nodiscard]] inline rmgr_allocation view(const Attempt& attempt) {
  rmgr_allocation out{};
  out.struct_size = rmgr::detail::size_of<rmgr_allocation>();
  out.host = to_abi(attempt.host);
  out.attempt = to_abi(attempt.attempt);
  out.generation = to_abi(attempt.generation);
  out.image = to_abi(attempt.image);
  out.policy = to_abi(attempt.policy);
  out.runner_name = to_abi(attempt.runner_name);
  out.runtime = to_abi(attempt.runtime);
  out.package = to_abi(attempt.package);
  out.environment = to_abi(attempt.environment);
  out.process.struct_size = rmgr::detail::size_of<rmgr_process_identity>();
  if (attempt.process) out.process = to_abi(*attempt.process);
  out.profile = view(attempt.profile);
  out.stop_grace_ms = attempt.stop_grace.count();
  return out;
}

}  // namespace detail
}  // namespace rmgr::testing
