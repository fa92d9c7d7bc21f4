#include "rmgr/plugin.hpp"

#include "mirror/mirror.hpp"

RMGR_PLUGIN(plugins::mirror::Mirror);
