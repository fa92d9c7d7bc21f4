// The host's end of a shim's gate.
#pragma once

#include <string>
#include <string_view>

#include "process/cgroup.hpp"
#include "process/fd.hpp"
#include "process/process.hpp"
#include "process/protocol.hpp"

namespace agent::process {

// Not thread-safe; closing it ends a shim that was not released.
class Gate {
 public:
  Gate() = default;
  explicit Gate(Fd socket) : socket_(std::move(socket)) {}

  Result<void> launch(const Spec& spec, const std::string& records, const Group& group,
                      domain::Millis gate_timeout, domain::Millis timeout);
  // Sends name and secret without copying the secret. not_found: the shim left before it had all of it.
  Result<void> release(std::string_view name, std::string_view secret, domain::Millis timeout);

  enum class Answer { ready, started, failed, closed, timeout, nonsense };
  // `failure` is set for `failed`.
  Answer wait(domain::Millis timeout, wire::Failure& failure);

 private:
  Fd socket_;
};

// One sentence for a launch that failed at the shim.
std::string describe(const wire::Failure& failure, const Spec& spec);

}  // namespace agent::process
