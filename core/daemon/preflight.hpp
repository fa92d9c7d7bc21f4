// What is wrong with a configuration on this machine: with what the installed plugins take, and with secrets
// that are not there.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace agent::daemon {

// `checker` is the program that looks into plugins. `loaded` has a configuration and came from the file
// `name`.
std::vector<config::Problem> preflight(const config::Loaded& loaded, const std::string& name,
                                       const std::string& checker);

}  // namespace agent::daemon
