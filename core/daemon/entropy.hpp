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
// The machine's id; one word for all machines without one, whose journals are then not told apart.
std::string machine_id();

}  // namespace agent::daemon
