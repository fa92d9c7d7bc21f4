// What an unpacked package must look like, entry by entry; and its text form.
#pragma once

#include "package/package.hpp"

namespace agent::package {

enum class Kind { directory, file, link };

struct Entry {
  std::string path;  // relative, no "." or ".."
  Kind kind = Kind::file;
  unsigned mode = 0;      // permission bits; 0 for links
  std::int64_t size = 0;  // of files
  std::string content;    // SHA-256 of a file, target of a link, empty for a directory
  bool operator==(const Entry&) const = default;
};

struct Manifest {
  PackageDigest digest;
  std::string version, os, architecture, source;
  std::vector<Entry> entries;  // sorted by path, parents before children
};

std::int64_t total_bytes(const Manifest& manifest);

// One header line, one line per entry, one closing line with their count. Bytes that are not printable ASCII
// are written as %XX. decode answers corrupt for anything that encode did not write.
std::string encode(const Manifest& manifest);
Result<Manifest> decode(std::string_view text, std::int64_t max_entries);

}  // namespace agent::package
