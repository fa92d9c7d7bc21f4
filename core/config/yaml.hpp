// The strict part of reading YAML: one document, no duplicates, no anchors, aliases, tags or merge keys.
#pragma once

#include <optional>
#include <string>

#include "config/extents.hpp"
#include "config/node.hpp"
#include "config/problems.hpp"

namespace agent::config {

// The document's root, as far as it could be read; nothing if its syntax is broken. Never throws.
// `extents` is of the same text and learns what must not be shown: all of it, if the syntax is broken.
std::optional<Node> parse_yaml(const std::string& text, Problems& problems, Extents& extents);

}  // namespace agent::config
