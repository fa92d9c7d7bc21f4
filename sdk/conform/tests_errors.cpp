#include "conform/test.hpp"
namespace rmgr::conform {
Tests error_tests() { return {}; }
}  // namespace rmgr::conform
