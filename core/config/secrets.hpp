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

// A line of the file as it may be shown: scrubbed, and without what follows a telling key.
std::string shown_line(std::string_view line);

}  // namespace agent::config
