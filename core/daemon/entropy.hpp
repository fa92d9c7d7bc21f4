// Random ids from the kernel, and this machine's clocks.
#pragma once

#include <cstddef>
#include <string>

#include "domain/time.hpp"

namespace agent::daemon {

std::string random_uuid();  // version 4, lower case
std::string random_hex(std::size_t digits);
double random_unit();  // in [0, 1)
domain::Instant instant_now(const domain::BootId& boot);
// The machine's id where it has one; empty otherwise, and then no journal is refused for another machine.
std::string machine_id();

}  // namespace agent::daemon
