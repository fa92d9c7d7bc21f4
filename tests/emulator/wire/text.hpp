// Small text tools that server, runner and client share. Nothing here throws or allocates beyond its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace emulator {

std::string base64_encode(std::string_view bytes);
// Nothing if the text is not padded standard base64.
std::optional<std::string> base64_decode(std::string_view text);

// ASCII only, as GitHub compares labels and names.
std::string lower(std::string_view text);
bool equal_fold(std::string_view left, std::string_view right);

// %XX is decoded; a malformed escape stays as it is. `+` means a space in a query only.
std::string percent_decode(std::string_view text, bool plus_is_space = false);

// `*` stands for any run of characters, a slash included.
bool glob_match(std::string_view pattern, std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);

// `bytes` random bytes from the system as lower-case hexadecimal.
std::string random_hex(std::size_t bytes);

// Milliseconds of the wall clock since the epoch.
std::int64_t wall_clock_ms();

// 2024-05-06T07:08:09Z
std::string iso_time(std::int64_t wall_ms);

// A plain http address taken apart; the path keeps its leading slash and has no trailing one ("" for the
// root).
struct HttpUrl {
  std::string host;  // without brackets
  std::uint16_t port = 80;
  std::string path;
};
std::optional<HttpUrl> parse_http_url(std::string_view text);

}  // namespace emulator
