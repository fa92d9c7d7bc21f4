// What text from a plugin must look like before it goes anywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agent::plugin {

inline constexpr std::size_t most_text_bytes = 64 * 1024;  // of one item that crosses the boundary

// Well-formed UTF-8: no overlong forms, surrogates or values past U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

// One line of at most `most` bytes, cut between characters: control characters and broken UTF-8 become '?'.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t most);

}  // namespace agent::plugin
