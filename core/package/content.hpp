// The bytes of a tree's files: hashed, or hashed while they are copied.
#pragma once

#include <vector>

#include "package/digest.hpp"
#include "package/files.hpp"
#include "package/manifest.hpp"

namespace agent::package {

// For one thread. Every file is opened no-follow from the tree's root and must be a regular one of exactly
// the entry's size and mode; corrupt otherwise.
class ContentReader {
 public:
  explicit ContentReader(int root);
  Result<std::string> digest(const Entry& entry, const Cancelled& cancelled);
  // Writes a new file (never over one that is there) and compares the digest with the entry's: corrupt if it
  // differs.
  Result<void> copy(const Entry& entry, Parents& destination, const Cancelled& cancelled);

 private:
  Result<std::string> pump(const Entry& entry, int target, const Cancelled& cancelled);
  Parents parents_;
  Sha256 hash_;
  std::vector<char> block_;
};

// Orders indexes of files so that large ones start first and no thread is left with one at the end; the
// others stay in path order, which keeps neighbours together.
void largest_first(std::vector<std::size_t>& files, const std::vector<Entry>& entries);

}  // namespace agent::package
