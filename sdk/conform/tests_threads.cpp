#include "conform/test.hpp"
namespace rmgr::conform {
Tests thread_tests() { return {}; }
}  // namespace rmgr::conform
