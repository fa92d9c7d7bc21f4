#include "rmgr/plugin.hpp"
#include "hyperv/provider.hpp"

RMGR_PLUGIN(hyperv::Provider);
