#include "rmgr/plugin.hpp"

#include "native/provider.hpp"

RMGR_PLUGIN(native::Provider);
