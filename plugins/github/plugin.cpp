#include "rmgr/plugin.hpp"

#include "github/gateway.hpp"
#include "github/packages.hpp"

RMGR_PLUGIN(plugins::github::Gateway, plugins::github::Packages);
