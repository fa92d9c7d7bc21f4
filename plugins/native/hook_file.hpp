// The program of a hook, which runs as the agent itself.
#pragma once

#include <string>

namespace native {

// Throws rmgr::Error (invalid), with the place and the remedy, unless `path` is an executable regular file
// that nobody but root and this process's account can change or replace: every directory above it is held to
// the same, and no part of it may be a symbolic link. So what was checked is what a later execution finds.
void check_hook_file(const std::string& path);

}  // namespace native
