// The way of a job into a container, beside what the engine alone takes for one.
#pragma once

#include "demo/show.hpp"

namespace bench {

// Prints one JSON object; an exit code. The process was started by with-engine, with a full image.
int containers(const demo::ShowOptions& options);

}  // namespace bench
