#pragma once

#include <string>

namespace hyperv {

// The path of a file in the directory of this library; empty if the system does not say where that is.
std::string beside_library(const std::string& name);

}  // namespace hyperv
