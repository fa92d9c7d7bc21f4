#include "conform/test.hpp"
namespace rmgr::conform {
Tests gateway_tests() { return {}; }
}  // namespace rmgr::conform
