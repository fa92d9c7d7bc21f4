// Digest files beside packages.
#pragma once

#include <string>
#include <string_view>

namespace plugins::mirror {

// The digest of `file` in the lines of a checksum file (`HEX  NAME`, `HEX *NAME`), or an empty text. A line
// that is a digest alone counts for every file if `alone` is set. Two different digests for one file count as
// none.
std::string find_digest(std::string_view text, std::string_view file, bool alone);

}  // namespace plugins::mirror
