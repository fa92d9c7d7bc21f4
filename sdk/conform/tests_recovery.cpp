#include "conform/test.hpp"
namespace rmgr::conform {
Tests recovery_tests() { return {}; }
}  // namespace rmgr::conform
