// A few threads over a list of independent jobs.
#pragma once

#include <cstddef>
#include <functional>

#include "domain/result.hpp"

namespace agent::package {

using Job = std::function<domain::Result<void>(std::size_t index)>;

// Calls jobs 0 … count-1, each once, from 2 to 4 threads (fewer for few jobs); `make` gives each thread its
// own job function. The first failure stops the rest and is the answer. Exceptions become internal errors.
domain::Result<void> run_parallel(std::size_t count, const std::function<Job()>& make);

}  // namespace agent::package
