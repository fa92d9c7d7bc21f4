#include "conform/test.hpp"
namespace rmgr::conform {
Tests compat_tests() { return {}; }
}  // namespace rmgr::conform
