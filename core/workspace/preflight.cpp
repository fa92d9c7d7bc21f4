#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "workspace/filesystem.hpp"
#include "workspace/handle.hpp"
#include "workspace/text.hpp"
#include "workspace/workspace.hpp"

namespace agent::workspace {

std::string_view to_string(RootRefusal refusal) {
  switch (refusal) {
    case RootRefusal::non_unicode: return "non_unicode";
    case RootRefusal::not_absolute: return "not_absolute";
    case RootRefusal::filesystem_root: return "filesystem_root";
    case RootRefusal::existing_file: return "existing_file";
    case RootRefusal::symlinked: return "symlinked";
    case RootRefusal::missing_parents: return "missing_parents";
    case RootRefusal::parent_not_a_directory: return "parent_not_a_directory";
    case RootRefusal::not_writable: return "not_writable";
    case RootRefusal::parent_not_writable: return "parent_not_writable";
    case RootRefusal::world_writable: return "world_writable";
    case RootRefusal::remote_filesystem: return "remote_filesystem";
    case RootRefusal::unprovable_filesystem: return "unprovable_filesystem";
    case RootRefusal::overlaps_application_data: return "overlaps_application_data";
    case RootRefusal::overlaps_another_root: return "overlaps_another_root";
    case RootRefusal::escapes_root: return "escapes_root";
    case RootRefusal::not_inspectable: return "not_inspectable";
    case RootRefusal::owned_by_another_installation: return "owned_by_another_installation";
    case RootRefusal::holds_other_files: return "holds_other_files";
  }
  return "unknown";
}

namespace {

using Parts = std::vector<std::string>;

struct Inode {
  dev_t device;
  ino_t number;
  bool operator==(const Inode&) const = default;
};

std::string join(const Parts& parts, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; ++i)
    path += "/" + parts[i];
  return path.empty() ? "/" : path;
}

Preflight refuse(RootRefusal refusal, std::string remedy) { return {false, refusal, std::move(remedy)}; }

Preflight uninspectable(const std::string& path, int error) {
  return refuse(RootRefusal::not_inspectable, "Give this account access to " + path +
                                                  ", which it cannot examine (" +
                                                  std::generic_category().message(error) + ").");
}

// One existing directory on the way to the root, or the root itself.
struct Seen {
  Parts parts;
  std::vector<Inode> chain;  // of "/" and each existing component
  Fd last;                   // the deepest one that exists
  struct stat info {};       // of it
  bool complete = false;     // the root exists
};

// Walks to the root without following anything. Answers a refusal, or fills `seen`.
std::optional<Preflight> walk(Seen& seen) {
  const Parts& parts = seen.parts;
  seen.last = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!seen.last || ::fstat(seen.last.get(), &seen.info) != 0) return uninspectable("/", errno);
  seen.chain.push_back({seen.info.st_dev, seen.info.st_ino});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool at_root = i + 1 == parts.size();
    const auto path = join(parts, i + 1);
    Fd next(::openat(seen.last.get(), parts[i].c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next) {
      if (errno != ENOENT) return uninspectable(path, errno);
      if (at_root) return std::nullopt;
      return refuse(RootRefusal::missing_parents, "Create " + join(parts, parts.size() - 1) +
                                                      "; only the last directory of " +
                                                      join(parts, parts.size()) + " is made for you.");
    }
    struct stat info {};
    if (::fstat(next.get(), &info) != 0) return uninspectable(path, errno);
    if (S_ISLNK(info.st_mode)) {
      return refuse(RootRefusal::symlinked, "Name the real directory: " + path + " is a symbolic link.");
    }
    if (!S_ISDIR(info.st_mode)) {
      return at_root ? refuse(RootRefusal::existing_file,
                              "Name a directory: " + path + " exists and is something else.")
                     : refuse(RootRefusal::parent_not_a_directory,
                              "Name a directory whose parents are directories: " + path + " is not one.");
    }
    // In a sticky directory others cannot rename what is ours; the root itself is for nobody else at all.
    if ((info.st_mode & S_IWOTH) != 0 && (at_root || (info.st_mode & S_ISVTX) == 0)) {
      return refuse(RootRefusal::world_writable, "Take the write right of everybody away (chmod o-w " + path +
                                                     "), or name another directory.");
    }
    seen.chain.push_back({info.st_dev, info.st_ino});
    seen.last = std::move(next);
    seen.info = info;
    seen.complete = at_root;
  }
  return std::nullopt;
}

std::optional<Preflight> check_filesystem(const Seen& seen, const std::string& root) {
  struct statfs info {};
  if (::fstatfs(seen.last.get(), &info) != 0) return uninspectable(root, errno);
  switch (filesystem_kind(static_cast<std::uint64_t>(info.f_type) & 0xFFFFFFFFU)) {
    case FilesystemKind::local: return std::nullopt;
    case FilesystemKind::remote:
      return refuse(RootRefusal::remote_filesystem, "Name a directory on a local disk: " + root +
                                                        " is on a network or user-space filesystem.");
    case FilesystemKind::unknown: break;
  }
  return refuse(RootRefusal::unprovable_filesystem,
                "Name a directory on a common local filesystem: that of " + root +
                    " is not known to keep the promises that runtimes need.");
}

std::optional<Preflight> check_rights(const Seen& seen, const std::string& root) {
  const Parts& parts = seen.parts;
  if (seen.complete && seen.info.st_uid != ::geteuid()) {
    return refuse(RootRefusal::not_writable,
                  "Make the account that runs this the owner of " + root + ", or name another directory.");
  }
  const auto link = "/proc/self/fd/" + std::to_string(seen.last.get());
  if (::faccessat(AT_FDCWD, link.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return std::nullopt;
  const auto reason = std::generic_category().message(errno);
  if (seen.complete) {
    return refuse(RootRefusal::not_writable,
                  "Make " + root + " writable for this account, or name another directory (" + reason + ").");
  }
  const auto parent = join(parts, parts.size() - 1);
  return refuse(RootRefusal::parent_not_writable,
                "Create " + root + " for this account, or make " + parent + " writable (" + reason + ").");
}

// The components that exist of `path`, links followed: what a bind mount or a link makes the same is the
// same.
std::vector<Inode> chain_of(const std::string& path) {
  std::vector<Inode> chain;
  const auto parts = components(path);
  if (!parts) return chain;
  for (std::size_t i = 0; i <= parts->size(); ++i) {
    struct stat info {};
    if (::stat(join(*parts, i).c_str(), &info) != 0) break;
    chain.push_back({info.st_dev, info.st_ino});
    if (i == parts->size()) chain.push_back({0, 0});  // marks a path that exists whole
  }
  return chain;
}

enum class Overlap { none, equal, nested };

Overlap overlap(const Seen& seen, const std::string& other) {
  std::error_code error;
  const auto real = std::filesystem::weakly_canonical(other, error).string();
  const auto parts = components(error ? other : real);
  if (!parts) return Overlap::none;
  const auto shorter = std::min(parts->size(), seen.parts.size());
  const auto length = static_cast<std::ptrdiff_t>(shorter);
  if (std::equal(parts->begin(), parts->begin() + length, seen.parts.begin())) {
    return parts->size() == seen.parts.size() ? Overlap::equal : Overlap::nested;
  }
  auto chain = chain_of(error ? other : real);
  const bool exists = !chain.empty() && chain.back() == Inode{0, 0};
  if (exists) chain.pop_back();
  if (exists && seen.complete && chain.back() == seen.chain.back()) return Overlap::equal;
  const auto within = [](const Inode& inode, const std::vector<Inode>& list) {
    return std::find(list.begin(), list.end(), inode) != list.end();
  };
  if (exists && within(chain.back(), seen.chain)) return Overlap::nested;
  if (seen.complete && within(seen.chain.back(), chain)) return Overlap::nested;
  return Overlap::none;
}

Preflight overlapping(RootRefusal refusal, const std::string& root, const std::string& other) {
  return refuse(refusal, "Name a directory apart from " + other + ", with which " + root + " overlaps.");
}

}  // namespace

Preflight check_root(const std::string& root, const std::vector<std::string>& ours,
                     const std::vector<OtherRoot>& others) {
  if (!is_utf8(root) || root.find('\0') != std::string::npos) {
    return refuse(RootRefusal::non_unicode, "Name a directory whose path is valid UTF-8.");
  }
  if (root.empty() || root.front() != '/') {
    return refuse(RootRefusal::not_absolute, "Name the directory by its absolute path, not '" + root + "'.");
  }
  auto parts = components(root);
  if (!parts) {
    return refuse(RootRefusal::escapes_root,
                  "Name the directory without '..' in its path, not '" + root + "'.");
  }
  if (parts->empty()) {
    return refuse(RootRefusal::filesystem_root, "Name a directory of its own for runtimes, not '/'.");
  }
  Seen seen;
  seen.parts = std::move(*parts);
  if (auto refusal = walk(seen)) return *refusal;
  for (const auto& directory : ours) {
    if (overlap(seen, directory) != Overlap::none) {
      return overlapping(RootRefusal::overlaps_application_data, root, directory);
    }
  }
  for (const auto& other : others) {
    const Overlap found = overlap(seen, other.root);
    if (found == Overlap::nested || (found == Overlap::equal && !other.may_be_the_same)) {
      return overlapping(RootRefusal::overlaps_another_root, root, other.root);
    }
  }
  if (auto refusal = check_filesystem(seen, root)) return *refusal;
  if (auto refusal = check_rights(seen, root)) return *refusal;
  return {true, std::nullopt, {}};
}

}  // namespace agent::workspace
