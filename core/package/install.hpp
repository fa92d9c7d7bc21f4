// One package from its source into the store.
#pragma once

#include "package/download.hpp"
#include "package/trust.hpp"

namespace agent::package {

struct InstallFailure {
  domain::Error error;
  bool stale_offer = false;     // the source's catalog should be asked again
  bool unsafe_archive = false;  // the archive itself, its digest proven, must not be installed
};

// Downloads, checks, unpacks, describes and commits the chosen package; then it is trusted. Nothing is left
// after a failure. Errors as those of Cache::acquire.
std::optional<InstallFailure> install(Source& source, const Choice& choice, const Query& query,
                                      const Options& options, const Store& store, Trust& trust,
                                      const Cancelled& cancelled);

}  // namespace agent::package
