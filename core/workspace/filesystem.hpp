// What the kind of a filesystem means for runtimes.
#pragma once

#include <cstdint>

namespace agent::workspace {

enum class FilesystemKind { local, remote, unknown };

// `magic` is what statfs answers. FUSE counts as remote: who serves it, and how it renames, cannot be known.
FilesystemKind filesystem_kind(std::uint64_t magic);

}  // namespace agent::workspace
