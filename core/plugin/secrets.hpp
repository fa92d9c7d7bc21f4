// Reads what a secret reference of the configuration points to.
#pragma once

#include <functional>
#include <string_view>

#include "domain/result.hpp"

namespace agent::plugin {

// Resolves file:/PATH, env:NAME or credential:NAME anew, hands the value to `use` and wipes it. White space
// at the end is trimmed; control characters are refused, but for the line ends of a PEM text. A file must be
// regular, no symbolic link, owned by root or this account, and closed to others (for a credential of the
// service manager: the group may read). denied: others could read or change it; invalid: the reference or the
// value is unusable; not_found: nothing is there. Messages name the reference, never the value.
domain::Result<void> with_secret(std::string_view reference,
                                 const std::function<void(std::string_view)>& use);

void wipe(void* data, std::size_t size);

}  // namespace agent::plugin
