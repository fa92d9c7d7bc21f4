// The command line: what an operator types, and what it says back.
#pragma once

namespace agent::cli {

// Never throws. The exit codes are those of exit_code.hpp.
int run(int argc, const char* const* argv);

}  // namespace agent::cli
