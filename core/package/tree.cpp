#include "package/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

#include "package/content.hpp"
#include "package/digest.hpp"
#include "package/parallel.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

Error corrupt(std::string_view what) {
  return Error{ErrorCode::corrupt, "the unpacked runner package " + std::string(what)};
}

class Lister {
 public:
  Lister(const TreeLimits& limits, const Cancelled& cancelled) : limits_(limits), cancelled_(cancelled) {}
  std::vector<Node> nodes;

  Result<void> directory(int fd, const std::string& prefix, int depth) {
    if (depth > kMaximumDepth) return corrupt("is too deep");
    if (asked(cancelled_)) return cancelled_error();
    Fd copy(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, CloseDirectory> stream(copy ? ::fdopendir(copy.get()) : nullptr);
    if (!stream) return system_error("cannot list a runner package", errno);
    [[maybe_unused]] const int owned_by_stream = copy.release();
    for (errno = 0; const dirent* item = ::readdir(stream.get()); errno = 0) {
      const std::string_view name = item->d_name;
      if (name == "." || name == "..") continue;
      auto seen = entry(::dirfd(stream.get()), item->d_name, prefix, depth);
      if (!seen) return seen;
    }
    if (errno != 0) return system_error("cannot list a runner package", errno);
    return {};
  }

 private:
  Result<void> entry(int parent, const char* name, const std::string& prefix, int depth) {
    if (static_cast<std::int64_t>(nodes.size()) >= limits_.entries) return corrupt("has too many entries");
    struct stat info {};
    if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return system_error("cannot examine a runner package", errno);
    }
    Node node{prefix + name, info.st_mode, info.st_size, info.st_dev,  info.st_ino,
              info.st_nlink, info.st_uid,  info.st_gid,  info.st_ctim, {}};
    if (S_ISLNK(info.st_mode)) {
      node.target.resize(4096);
      const auto size = ::readlinkat(parent, name, node.target.data(), node.target.size());
      if (size < 0) return system_error("cannot read a link of a runner package", errno);
      node.target.resize(static_cast<std::size_t>(size));
    } else if (S_ISREG(info.st_mode)) {
      bytes_ += info.st_size;
      if (bytes_ > limits_.bytes) return corrupt("is too large");
    } else if (!S_ISDIR(info.st_mode)) {
      return corrupt("holds a FIFO, socket or device");
    }
    nodes.push_back(std::move(node));
    if (!S_ISDIR(info.st_mode)) return {};
    const Fd child = open_entry(parent, name, O_RDONLY | O_DIRECTORY);
    if (!child) return system_error("cannot open a directory of a runner package", errno);
    return directory(child.get(), prefix + name + "/", depth + 1);
  }

  const TreeLimits& limits_;
  const Cancelled& cancelled_;
  std::int64_t bytes_ = 0;
};

}  // namespace

Result<std::vector<Node>> list_tree(int root, const TreeLimits& limits, const Cancelled& cancelled) {
  Lister lister(limits, cancelled);
  auto listed = lister.directory(root, "", 0);
  if (!listed) return listed.error();
  std::sort(lister.nodes.begin(), lister.nodes.end(),
            [](const Node& a, const Node& b) { return a.path < b.path; });
  return std::move(lister.nodes);
}

std::string fingerprint(const std::vector<Node>& nodes) {
  Sha256 hash;
  for (const auto& node : nodes) {
    std::string line = node.path;
    line += '\0';
    const auto add = [&line](auto value) { line += std::to_string(value) + ","; };
    add(node.mode);
    add(node.size);
    add(node.device);
    add(node.inode);
    add(node.owner);
    add(node.group);
    add(node.changed.tv_sec);
    add(node.changed.tv_nsec);
    line += node.target;
    line += '\0';
    hash.update(line);
  }
  return hash.finish();
}

Result<Description> describe(int root, const TreeLimits& limits, const Cancelled& cancelled) {
  auto nodes = list_tree(root, limits, cancelled);
  if (!nodes) return nodes.error();
  Description description;
  description.fingerprint = fingerprint(*nodes);
  description.entries.reserve(nodes->size());
  std::vector<std::size_t> files;
  for (const auto& node : *nodes) {
    Entry entry{node.path, Kind::file, node.mode & 07777U, 0, {}};
    if (S_ISREG(node.mode)) {
      entry.size = node.size;
      files.push_back(description.entries.size());
    } else if (S_ISLNK(node.mode)) {
      entry = {node.path, Kind::link, 0, 0, node.target};
    } else {
      entry.kind = Kind::directory;
    }
    description.entries.push_back(std::move(entry));
  }
  auto& entries = description.entries;
  largest_first(files, entries);
  auto read = run_parallel(files.size(), [&]() -> Job {
    return [&, reader = std::make_shared<ContentReader>(root)](std::size_t index) -> Result<void> {
      Entry& entry = entries[files[index]];
      auto digest = reader->digest(entry, cancelled);
      if (!digest) return digest.error();
      entry.content = std::move(*digest);
      return {};
    };
  });
  if (!read) return read.error();
  auto again = list_tree(root, limits, cancelled);
  if (!again) return again.error();
  if (fingerprint(*again) != description.fingerprint) {
    return Error{ErrorCode::retry, "the unpacked runner package changed while it was read"};
  }
  return description;
}

Result<void> take_ownership(int root, uid_t from, const TreeLimits& limits, const Cancelled& cancelled) {
  auto nodes = list_tree(root, limits, cancelled);
  if (!nodes) return nodes.error();
  std::map<std::pair<dev_t, ino_t>, nlink_t> names;
  for (const auto& node : *nodes) {
    if (!S_ISDIR(node.mode)) ++names[{node.device, node.inode}];
  }
  for (const auto& node : *nodes) {
    const bool all_here = S_ISDIR(node.mode) || names[{node.device, node.inode}] == node.links;
    if (node.owner != from || !all_here) {
      return Error{ErrorCode::invalid,
                   "the archive is unsafe: its unpacking left files that are not its own"};
    }
  }
  Parents parents(root);
  for (const auto& node : *nodes) {
    const int parent = parents.of(node.path);
    if (parent < 0 ||
        ::fchownat(parent, Parents::name(node.path), ::geteuid(), ::getegid(), AT_SYMLINK_NOFOLLOW) != 0) {
      return system_error("cannot take over the unpacked runner package", errno);
    }
  }
  return {};
}

}  // namespace agent::package
