// The bytes of one archive, from a source into a file, checked on the way.
#pragma once

#include "package/choice.hpp"

namespace agent::package {

struct DownloadError {
  domain::Error error;
  bool stale_offer = false;  // the source does not know the offer any more: ask its catalog again
};

// Writes the chosen archive to the empty file `target`. A fetch that breaks half-way is resumed at most three
// times, where the source gave a validator; otherwise from the start. Nothing once size and digest are right;
// retry when they are not.
std::optional<DownloadError> download(Source& source, const Choice& choice, int target,
                                      std::int64_t max_bytes, const Cancelled& cancelled);

// A source's word is about its own request. What would be read as final about the package becomes retry.
domain::Error softened(const domain::Error& error);

}  // namespace agent::package
