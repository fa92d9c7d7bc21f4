#include "conform/test.hpp"
namespace rmgr::conform {
Tests source_tests() { return {}; }
}  // namespace rmgr::conform
