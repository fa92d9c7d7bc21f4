#include "package/install.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "crash_point.hpp"
#include "package/child.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

namespace {

Result<Unpacked> unpack_staged(const Stage& stage, int archive, const Options& options,
                               const Cancelled& cancelled) {
  if (::mkdirat(stage.directory(), "tree", 0700) != 0) {
    return system_error("cannot make a directory of the package cache", errno);
  }
  UnpackLimits limits;
  limits.entries = options.max_entries;
  limits.bytes = options.max_tree_bytes;
  limits.ratio = std::max<std::int64_t>(options.max_ratio, 1);
  if (!options.unpacker.empty()) {
    return unpack_in_child(options.unpacker, stage.path() + "/archive", stage.path() + "/tree", limits,
                           options.unpack_limit, cancelled);
  }
  const Fd tree = open_entry(stage.directory(), "tree", O_RDONLY | O_DIRECTORY);
  if (!tree) return system_error("cannot open a directory of the package cache", errno);
  return unpack(archive, tree.get(), limits, cancelled);
}

}  // namespace

std::optional<InstallFailure> install(Source& source, const Choice& choice, const Query& query,
                                      const Options& options, const Store& store, Trust& trust,
                                      const Cancelled& cancelled) {
  auto stage = store.stage();
  if (!stage) return InstallFailure{stage.error()};
  {
    const Fd archive(::openat(stage->directory(), "archive",
                              O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!archive) return InstallFailure{system_error("cannot write to the package cache", errno)};
    RMGR_CRASH_POINT("package.download.before");
    auto failed = download(source, choice, archive.get(), options.max_archive_bytes, cancelled);
    if (failed) return InstallFailure{failed->error, failed->stale_offer};
    RMGR_CRASH_POINT("package.unpack.before");
    const auto unpacked = unpack_staged(*stage, archive.get(), options, cancelled);
    if (!unpacked) {
      return InstallFailure{unpacked.error(), false, unpacked.error().code == ErrorCode::invalid};
    }
  }
  RMGR_CRASH_POINT("package.unpack.after");
  const auto removed = remove_entry(stage->directory(), "archive");
  if (!removed) return InstallFailure{removed.error()};
  const Fd tree = open_entry(stage->directory(), "tree", O_RDONLY | O_DIRECTORY);
  if (!tree) return InstallFailure{system_error("cannot open a directory of the package cache", errno)};
  auto description =
      describe(tree.get(), TreeLimits{options.max_entries * 2, options.max_tree_bytes}, cancelled);
  if (!description) {
    auto error = description.error();
    const bool not_allowed = error.code == ErrorCode::corrupt;
    if (not_allowed) error.code = ErrorCode::invalid;
    return InstallFailure{std::move(error), false, not_allowed};
  }
  Manifest manifest{choice.digest,      choice.offer.version, query.os,
                    query.architecture, query.source,         std::move(description->entries)};
  RMGR_CRASH_POINT("package.described");
  const auto committed = store.commit(std::move(*stage), manifest);
  if (!committed) return InstallFailure{committed.error()};
  trust.add(std::move(manifest), std::move(description->fingerprint));
  return std::nullopt;
}

}  // namespace agent::package
