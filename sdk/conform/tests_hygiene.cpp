#include "conform/test.hpp"
namespace rmgr::conform {
Tests hygiene_tests() { return {}; }
}  // namespace rmgr::conform
