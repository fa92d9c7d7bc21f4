// One request to a running agent over its control socket.
#pragma once

#include <string>

#include "domain/result.hpp"

namespace agent::cli {

// Blocks for at most some seconds. not_found: nobody listens there. The answer is the whole response line.
domain::Result<std::string> send_request(const std::string& socket, const std::string& request);

}  // namespace agent::cli
