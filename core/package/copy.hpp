// One trusted tree into one runtime.
#pragma once

#include "package/manifest.hpp"

namespace agent::package {

// Copies what the manifest lists from `source` into the empty directory `destination`, with the manifest's
// modes and links, each byte hashed as it passes. corrupt when an entry is missing or differs. Hard links
// become files of their own. On failure the destination holds a part.
Result<Copied> copy_tree(int source, const Manifest& manifest, int destination, const Cancelled& cancelled);

}  // namespace agent::package
