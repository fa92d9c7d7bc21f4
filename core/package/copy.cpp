#include "package/copy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "crash_point.hpp"
#include "package/content.hpp"
#include "package/parallel.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

Error mismatch() {
  return Error{ErrorCode::corrupt, "an entry of the runner package is missing or differs from its manifest"};
}

Result<void> check_directory(const Entry& entry, Parents& source) {
  const int parent = source.of(entry.path);
  struct stat info {};
  if (parent < 0 || ::fstatat(parent, Parents::name(entry.path), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISDIR(info.st_mode) || (info.st_mode & 07777U) != entry.mode) {
    return mismatch();
  }
  return {};
}

Result<void> copy_link(const Entry& entry, Parents& source, Parents& destination) {
  const int from = source.of(entry.path);
  std::string target(entry.content.size() + 1, '\0');
  const auto size =
      from < 0 ? -1 : ::readlinkat(from, Parents::name(entry.path), target.data(), target.size());
  if (size < 0 || std::string_view(target.data(), static_cast<std::size_t>(size)) != entry.content) {
    return mismatch();
  }
  const int to = destination.of(entry.path);
  if (to < 0 || ::symlinkat(entry.content.c_str(), to, Parents::name(entry.path)) != 0) {
    return system_error("cannot make a link of the runtime", errno);
  }
  return {};
}

}  // namespace

Result<Copied> copy_tree(int source, const Manifest& manifest, int destination, const Cancelled& cancelled) {
  const auto& entries = manifest.entries;
  Parents from(source);
  Parents to(destination);
  std::vector<std::size_t> files;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    if (entry.kind == Kind::file) files.push_back(i);
    if (entry.kind != Kind::directory) continue;
    auto checked = check_directory(entry, from);
    if (!checked) return checked.error();
    const int parent = to.of(entry.path);
    if (parent < 0 || ::mkdirat(parent, Parents::name(entry.path), S_IRWXU) != 0) {
      return system_error("cannot make a directory of the runtime", errno);
    }
  }
  RMGR_CRASH_POINT("package.copy.directories");
  largest_first(files, entries);
  auto copied = run_parallel(files.size(), [&]() -> Job {
    return [&, reader = std::make_shared<ContentReader>(source),
            target = std::make_shared<Parents>(destination)](std::size_t index) {
      RMGR_CRASH_POINT("package.copy.file");
      return reader->copy(entries[files[index]], *target, cancelled);
    };
  });
  if (!copied) return copied.error();
  RMGR_CRASH_POINT("package.copy.files_done");
  // Links only now: no file was written through one. Modes of directories last, deepest first.
  for (const auto& entry : entries) {
    if (entry.kind != Kind::link) continue;
    auto linked = copy_link(entry, from, to);
    if (!linked) return linked.error();
  }
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->kind != Kind::directory) continue;
    const int parent = to.of(entry->path);
    const Fd directory =
        parent < 0 ? Fd() : open_entry(parent, Parents::name(entry->path), O_RDONLY | O_DIRECTORY);
    if (!directory || ::fchmod(directory.get(), entry->mode) != 0) {
      return system_error("cannot set the mode of a directory of the runtime", errno);
    }
  }
  return Copied{static_cast<std::int64_t>(entries.size()), total_bytes(manifest)};
}

}  // namespace agent::package
