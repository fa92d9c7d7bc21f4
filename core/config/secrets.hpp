// A configuration names secrets and never holds them.
#pragma once

#include <string>
#include <string_view>

#include "config/node.hpp"
#include "config/problems.hpp"

namespace agent::config {

// Reports every value that looks like a secret, and every value under a key such as `token` or `private_key`
// that is not a reference: file:/absolute/path, env:NAME or credential:NAME.
void check_secrets(const Node& root, Problems& problems);

// A key whose value is a secret, or that is one slip away from such a key.
bool is_telling(std::string_view key);
// A value under a telling key that is none: one reference, or true or false.
bool is_harmless(const Node& value);
// Text that looks like a secret, or that gives one with its name.
bool may_hold_secret(std::string_view text);

// A line of the file, or other text, as it may be shown: scrubbed, and without what follows a telling key.
std::string shown_line(std::string_view line);

}  // namespace agent::config
