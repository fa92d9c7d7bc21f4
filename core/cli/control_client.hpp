// Asks a running daemon.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "domain/result.hpp"

namespace agent::cli {

inline constexpr std::chrono::milliseconds kPatience{15'000};

// Sends one request line and answers the result's text as the daemon wrote it. Blocks for at most `patience`.
// unreachable: no daemon listens there; denied: the socket may not be used; otherwise what the daemon said.
domain::Result<std::string> ask(const std::string& socket, std::string_view request,
                                std::chrono::milliseconds patience = kPatience);

}  // namespace agent::cli
