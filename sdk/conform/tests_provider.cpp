#include "conform/test.hpp"
namespace rmgr::conform {
Tests provider_tests() { return {}; }
}  // namespace rmgr::conform
