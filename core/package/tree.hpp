// Looking at an unpacked tree: what is there, a cheap fingerprint of it, and its full description.
#pragma once

#include <sys/types.h>

#include <ctime>

#include "package/files.hpp"
#include "package/manifest.hpp"

namespace agent::package {

inline constexpr int kMaximumDepth = 64;

struct TreeLimits {
  std::int64_t entries = 200'000;
  std::int64_t bytes = std::int64_t{8} << 30;
};

struct Node {
  std::string path;
  mode_t mode = 0;
  std::int64_t size = 0;
  dev_t device = 0;
  ino_t inode = 0;
  nlink_t links = 0;
  uid_t owner = 0;
  gid_t group = 0;
  timespec changed{};
  std::string target;  // of links
};

// Every entry below `root`, sorted by path. corrupt for a FIFO, socket or device, and for more than the
// limits allow; retry when it cannot be read.
Result<std::vector<Node>> list_tree(int root, const TreeLimits& limits, const Cancelled& cancelled);

// Over path, inode, size, mode, owner and change time of every entry: equal means that nobody touched it.
std::string fingerprint(const std::vector<Node>& nodes);

// Reads the whole tree. The answer's fingerprint was the same before and after the reading (retry otherwise).
struct Description {
  std::vector<Entry> entries;
  std::string fingerprint;
};
Result<Description> describe(int root, const TreeLimits& limits, const Cancelled& cancelled);

// Makes every entry ours. Before the first change: each entry must belong to `from`, and no file may have a
// name outside of the tree (invalid otherwise), so that nothing of anybody else can be taken over.
Result<void> take_ownership(int root, uid_t from, const TreeLimits& limits, const Cancelled& cancelled);

}  // namespace agent::package
