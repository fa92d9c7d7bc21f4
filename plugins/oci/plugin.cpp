#include "rmgr/plugin.hpp"

#include "oci/provider.hpp"

RMGR_PLUGIN(oci::Provider);
