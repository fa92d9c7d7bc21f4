// Finds plugin libraries and decides from the outside, before any of their code runs, whether they may be
// loaded.
#pragma once

#include <memory>
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

// A file as it was when its SHA-256 was taken.
//
// The loader opens a library by its path anew. Handing it /proc/self/fd/N instead would name the very file,
// but everything that goes by the path of a library (its own $ORIGIN, debuggers, crash reports) would see
// that name. So whoever loads it asks `unchanged` before and after: a file that was put in its place, also
// for a moment, or written into, has another inode or another time of change, and the descriptor that is kept
// makes sure that the number of the inode is given to no other. What it does not stand against is an account
// that may write the file or its directory and times a change between the last question and the loader; those
// are root and the daemon's own, since all others are refused beforehand, and what such code did as it was
// loaded cannot be undone by the question after it.
class HashedFile {
 public:
  static domain::Result<HashedFile> read(const std::string& path);
  [[nodiscard]] const std::string& digest() const { return digest_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool unchanged() const;  // what the path names is still that file

 private:
  struct Open;
  std::string path_, digest_;
  std::shared_ptr<const Open> open_;
};

}  // namespace agent::plugin
