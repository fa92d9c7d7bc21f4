// More cases than the library tries by itself; what the environment says goes first.
#include <cstdlib>

namespace {

[[maybe_unused]] const int configured = ::setenv("RC_PARAMS", "max_success=500", 0);

}  // namespace
