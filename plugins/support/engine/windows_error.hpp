// What a failed call of Windows means for a connection to an engine.
#pragma once

#include <string>

#include "support/engine/stream.hpp"

namespace plugins::engine {

// Of the connecting: `code` as of GetLastError or WSAGetLastError.
NoConnection no_connection(const Address& address, unsigned long code);
// Later on.
rmgr::Error broken(unsigned long code);

}  // namespace plugins::engine
