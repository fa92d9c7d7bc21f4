#include "conform/test.hpp"
namespace rmgr::conform {
Tests config_tests() { return {}; }
}  // namespace rmgr::conform
