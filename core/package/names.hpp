// Names and links inside an archive, as pure rules.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "package/archive.hpp"

namespace agent::package {

// The entry's relative path without "." and empty components, "" for the top itself; or why it is unsafe.
std::variant<std::string, Violation> entry_path(std::string_view name, const UnpackLimits& limits);

// Every symbolic link of one tree: path → target. Answers whether all of them, followed the way a kernel
// follows them, other links included, stay inside.
bool links_stay_inside(const std::map<std::string, std::string>& links);

}  // namespace agent::package
