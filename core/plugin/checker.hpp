// Loads a library for the first time in a child process, so that one that crashes while it is loaded takes
// nobody along.
#pragma once

#include <chrono>
#include <string>

#include "domain/result.hpp"

namespace agent::plugin {

// Runs `program PATH ID` and waits at most `patience`. An error with the program's one sentence, or with how
// it ended.
domain::Result<void> check_in_child(const std::string& program, const std::string& path,
                                    const std::string& id, std::chrono::milliseconds patience);

// The same, and then the schemas of its components by interface id, as one JSON object.
domain::Result<std::string> schemas_in_child(const std::string& program, const std::string& path,
                                             const std::string& id, std::chrono::milliseconds patience);

}  // namespace agent::plugin
