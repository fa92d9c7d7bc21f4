// What a plugin is given of the file.
#pragma once

#include <string>

#include "config/config.hpp"
#include "config/node.hpp"
#include "config/problems.hpp"

namespace agent::config {

// Canonical JSON of a subtree: keys sorted, no spaces; unquoted true and false are booleans, plain numbers
// are numbers, everything else is text. Missing values, words that YAML may read as something else and
// numbers that do not fit are recorded. `node` null: an empty object.
std::string to_json(const Node* node, Problems& problems);

// Notes where every value of the subtree and every key stands.
void note_places(const Node& node, Instance& into);

}  // namespace agent::config
