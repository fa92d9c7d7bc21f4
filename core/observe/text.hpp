// Parts of scrubbing and printing text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agent::observe {

// Control characters, direction overrides and invalid UTF-8 become visible escapes: \n, \t, \x1b, \u202e.
// Backslashes stay as they are, so that a second time changes nothing.
std::string escape_controls(std::string_view text);

// The length of the valid UTF-8 character that starts at `at`; 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

// At most `limit` bytes, cut between characters, with a mark at the end where something was cut.
std::string shorten(std::string text, std::size_t limit);

// A JSON string literal with its quotes. `text` is valid UTF-8.
std::string json_quote(std::string_view text);

// True for characters of which tokens, ids and paths are made.
bool is_run_character(char c);

// Decides about a maximal run of such characters: true for what only a machine would write and that is not
// one of our own ids or an ordinary path or name.
bool is_opaque_run(std::string_view run);

}  // namespace agent::observe
