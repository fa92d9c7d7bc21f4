#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "package/files.hpp"

namespace agent::package {

using domain::Result;

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Stream = std::unique_ptr<DIR, CloseDirectory>;

Stream open_stream(int directory) {
  Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy) return nullptr;
  Stream stream(::fdopendir(copy.get()));
  if (stream) [[maybe_unused]]
    const int owned_by_stream = copy.release();
  return stream;
}

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

// Packages are shallow. Deeper trees (a job may have made one where accounts are shared) are moved to the
// top.
constexpr int kMaximumDepth = 64;
constexpr int kMaximumPasses = 10'000;

struct Clearing {
  int top;
  bool pulled = false;

  // 0 or the errno of the last entry that stays.
  int content(int directory, int depth) {
    ::fchmod(directory, S_IRWXU);
    const Stream stream = open_stream(directory);
    if (!stream) return errno;
    int failure = 0;
    while (const dirent* item = ::readdir(stream.get())) {
      if (is_dots(item->d_name)) continue;
      const int error = entry(directory, std::string(item->d_name), depth);
      if (error != 0 && error != ENOENT) failure = error;
    }
    return failure;
  }

  int entry(int directory, const std::string& name, int depth) {
    if (::unlinkat(directory, name.c_str(), 0) == 0) return 0;
    if (errno != EISDIR) return errno;
    if (depth >= kMaximumDepth) {
      pulled = true;
      return ::renameat(directory, name.c_str(), top, ("pulled-" + random_name()).c_str()) == 0 ? 0 : errno;
    }
    const Fd child = open_entry(directory, name.c_str(), O_RDONLY | O_DIRECTORY);
    if (!child) return errno;
    const int error = content(child.get(), depth + 1);
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0) return 0;
    return error != 0 ? error : errno;
  }
};

}  // namespace

Result<bool> is_empty(int directory) {
  const Stream stream = open_stream(directory);
  if (!stream) return system_error("cannot list a directory", errno);
  while (const dirent* item = ::readdir(stream.get())) {
    if (!is_dots(item->d_name)) return false;
  }
  return true;
}

Result<void> remove_content(int directory) {
  Clearing clearing{directory};
  int error = 0;
  for (int pass = 0; pass < kMaximumPasses; ++pass) {
    clearing.pulled = false;
    error = clearing.content(directory, 0);
    if (!clearing.pulled && error != ENOTEMPTY) break;
  }
  if (error != 0) return system_error("cannot remove files of the package cache", error);
  return {};
}

Result<void> remove_entry(int directory, const std::string& name) {
  const Fd child = open_entry(directory, name.c_str(), O_RDONLY | O_DIRECTORY);
  if (child) {
    auto removed = remove_content(child.get());
    if (!removed) return removed;
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  } else if (errno == ENOENT || ::unlinkat(directory, name.c_str(), 0) == 0) {
    return {};
  }
  return system_error("cannot remove a directory of the package cache", errno);
}

}  // namespace agent::package
