// What is wrong with a configuration on this machine: with what the installed plugins take, and with secrets
// that are not there.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace agent::daemon {

// What is to be made of a plugin that cannot be asked what it takes, for a reason of its own. As it starts
// the daemon refuses the instance for the same reason, and a plugin that is broken stops nothing but what
// uses it.
enum class BrokenPlugin { is_a_problem, is_left_to_the_start };

// A configuration that could not be checked for any other reason is always a problem. `checker` is the
// program that looks into plugins. `loaded` has a configuration and came from the file `name`.
std::vector<config::Problem> preflight(const config::Loaded& loaded, const std::string& name,
                                       const std::string& checker, BrokenPlugin broken);

}  // namespace agent::daemon
