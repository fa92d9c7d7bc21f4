#include "sample.hpp"

RMGR_PLUGIN(sample::Provider, sample::Gateway, sample::Source);
