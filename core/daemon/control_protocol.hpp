// What travels over the control socket: one line of JSON each way.
//   request:  {"command":"status", …}
//   response: {"ok":true,"result":…} or {"ok":false,"error":{"code":"…","message":"…"}}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "domain/result.hpp"

namespace agent::daemon {

inline constexpr std::size_t kLargestControlRequest = 64 * 1024;
inline constexpr std::size_t kLargestControlResponse = 64 * 1024 * 1024;

std::string control_request(std::string_view command);
// `limit` and the like ride beside the command.
std::string control_request(std::string_view command, std::string_view key, std::int64_t value);
std::string control_request(std::string_view command, std::string_view key, const std::string& value);

// The command's word, or why the line is no request.
domain::Result<std::string> control_command(std::string_view request);
// A whole number of the request; `otherwise` if it is absent or of another type.
std::int64_t control_number(std::string_view request, std::string_view key, std::int64_t otherwise);
// A text of the request; empty if it is absent or of another type.
std::string control_text(std::string_view request, std::string_view key);

// `result` is one JSON document.
std::string control_result(std::string_view result);
std::string control_error(const domain::Error& error);

// The result's text as the daemon wrote it, or the error that it answered with.
domain::Result<std::string> control_outcome(std::string_view response);

}  // namespace agent::daemon
