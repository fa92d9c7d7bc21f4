// The parts of the file, each read by its own function; used by the loader.
#pragma once

#include <set>
#include <string>

#include "config/config.hpp"
#include "config/section.hpp"

namespace agent::config {

// state, control, host, polling, history, packages, log and plugins.
void read_daemon(Section& root, Configuration& out, Problems& problems);

// gateways, package_sources and providers; a name is given once over all three.
void read_instances(Section& root, Configuration& out, Problems& problems);

// policies, with the names that they refer to and the rules of the domain. Needs the instances and the state
// directory.
void read_policies(Section& root, Configuration& out, Problems& problems);

// 64 hexadecimal digits, in lower case; nothing for any other text.
std::optional<std::string> parse_sha256(std::string_view text);

}  // namespace agent::config
