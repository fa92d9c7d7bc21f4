// Where a secret must not be.
#pragma once

#include <string>

#include "conform/test.hpp"

namespace rmgr::conform {

// Fails the test if the plugin let the needle out, or if it is in a file of the scratch directory, in this
// process's environment, or in an argument of any process.
void expect_no_leak(const Context& context, const std::string& needle);

}  // namespace rmgr::conform
