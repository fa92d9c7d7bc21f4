#include "rmgr/plugin.hpp"

#include "provider.hpp"

RMGR_PLUGIN(processes::Provider);
