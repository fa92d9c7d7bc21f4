// Finds plugin libraries and decides from the outside, before any of their code runs, whether they may be
// loaded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.hpp"
#include "plugin/host.hpp"

namespace agent::plugin {

// Reads the text of a manifest; every member is checked.
domain::Result<Manifest> parse_manifest(std::string_view text);

// The platform of this build as manifests name it, for example linux-x86_64.
std::string this_platform();

// Why a file or one of the directories above it could be changed by somebody else than root and this account;
// nothing if it could not. `path` is absolute and canonical.
std::optional<std::string> untrusted(const std::string& path);

// What the *.manifest.json of the directories say, in the order of the directories and then by name; at most
// 256. A directory that cannot be read is one entry with a refusal. `host` is the version that this host
// offers.
std::vector<Discovered> discover_plugins(const std::vector<std::string>& directories, bool trust_any_owner,
                                         AbiVersion host = {});

// SHA-256 of a file as 64 hex digits. At most 1 GiB is read.
domain::Result<std::string> file_digest(const std::string& path);

}  // namespace agent::plugin
