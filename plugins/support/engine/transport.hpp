// The ways to an engine that a system has; each has its own files of these.
#pragma once

#include "support/engine/stream.hpp"

namespace plugins::engine {

// Throw NoConnection, or unsupported for what the system does not have.
std::unique_ptr<Stream> open_unix(const Address& address, const Waiter& waiter);
std::unique_ptr<Stream> open_tcp(const Address& address, const Waiter& waiter);
std::unique_ptr<Stream> open_pipe(const Address& address, const Waiter& waiter);

}  // namespace plugins::engine
