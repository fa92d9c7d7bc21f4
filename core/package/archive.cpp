#include "package/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <set>

#include "package/files.hpp"
#include "package/names.hpp"

namespace agent::package {

using domain::Error;
using domain::ErrorCode;

std::string_view to_string(Violation violation) {
  switch (violation) {
    case Violation::absolute_name: return "absolute_name";
    case Violation::escaping_name: return "escaping_name";
    case Violation::unusable_name: return "unusable_name";
    case Violation::name_too_long: return "name_too_long";
    case Violation::too_deep: return "too_deep";
    case Violation::special_file: return "special_file";
    case Violation::workspace_name: return "workspace_name";
    case Violation::duplicate: return "duplicate";
    case Violation::through_a_link: return "through_a_link";
    case Violation::escaping_link: return "escaping_link";
    case Violation::bad_hard_link: return "bad_hard_link";
    case Violation::too_many_entries: return "too_many_entries";
    case Violation::too_large: return "too_large";
    case Violation::ratio_too_high: return "ratio_too_high";
    case Violation::unreadable: return "unreadable";
  }
  return "unknown";
}

Error unsafe(Violation violation) {
  return Error{ErrorCode::invalid, "the archive of the runner package is unsafe and was not installed: " +
                                       std::string(to_string(violation))};
}

namespace {

constexpr std::size_t kReadBlock = 65'536;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, FreeArchive>;

class Unpacker {
 public:
  Unpacker(archive* reader, int destination, std::int64_t packed, const UnpackLimits& limits,
           const Cancelled& cancelled)
      : reader_(reader),
        destination_(destination),
        packed_(packed),
        limits_(limits),
        cancelled_(cancelled),
        parents_(destination) {}

  Result<Unpacked> run() {
    while (true) {
      if (asked(cancelled_)) return cancelled_error();
      archive_entry* entry = nullptr;
      const int status = archive_read_next_header(reader_, &entry);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return unsafe(Violation::unreadable);
      if (++done_.entries > limits_.entries) return unsafe(Violation::too_many_entries);
      auto made = one(entry);
      if (!made) return made.error();
    }
    if (!links_stay_inside(links_)) return unsafe(Violation::escaping_link);
    return done_;
  }

 private:
  Result<void> one(archive_entry* entry) {
    const char* name = archive_entry_pathname(entry);
    if (name == nullptr) name = archive_entry_pathname_utf8(entry);
    if (name == nullptr) return unsafe(Violation::unusable_name);
    auto checked = entry_path(name, limits_);
    if (const auto* violation = std::get_if<Violation>(&checked)) return unsafe(*violation);
    const auto& path = std::get<std::string>(checked);
    const char* hard = archive_entry_hardlink(entry);
    const auto type = archive_entry_filetype(entry);
    if (path.empty() && (hard != nullptr || type != AE_IFDIR)) return unsafe(Violation::unusable_name);
    if (!explicit_.insert(path).second) return unsafe(Violation::duplicate);
    if (path.empty()) return {};
    auto parent = make_parents(path);
    if (!parent) return parent;
    if (hard != nullptr) return hard_link(path, hard);
    if (type == AE_IFDIR) return directory(path, archive_entry_perm(entry));
    if (type == AE_IFREG) return file(path, entry);
    if (type == AE_IFLNK) return symbolic_link(path, archive_entry_symlink(entry));
    return unsafe(Violation::special_file);
  }

  // Directories that the archive did not list yet, each opened without following anything.
  Result<void> make_parents(const std::string& path) {
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      const auto above = path.substr(0, slash);
      if (directories_.contains(above)) continue;
      auto made = make_directory(above, 0755);
      if (!made) return made;
    }
    return {};
  }

  Result<void> make_directory(const std::string& path, mode_t mode) {
    if (directories_.size() >= static_cast<std::size_t>(limits_.entries))
      return unsafe(Violation::too_many_entries);
    const int parent = parents_.of(path);
    if (parent < 0) return blocked(errno);
    if (::mkdirat(parent, Parents::name(path), 0700) != 0) {
      return errno == EEXIST ? Result<void>(unsafe(through_or_duplicate(path))) : blocked(errno);
    }
    const Fd made = open_entry(parent, Parents::name(path), O_RDONLY | O_DIRECTORY);
    if (!made || ::fchmod(made.get(), mode) != 0) return blocked(errno);
    directories_.insert(path);
    return {};
  }

  [[nodiscard]] Violation through_or_duplicate(const std::string& path) const {
    return links_.contains(path) ? Violation::through_a_link : Violation::duplicate;
  }

  Result<void> blocked(int error) const {
    if (error == ENOTDIR || error == ELOOP) return unsafe(Violation::through_a_link);
    if (error == EEXIST) return unsafe(Violation::duplicate);
    if (error == ENAMETOOLONG) return unsafe(Violation::name_too_long);
    if (error == EFBIG) return unsafe(Violation::too_large);
    return system_error("cannot unpack the runner package", error);
  }

  Result<void> directory(const std::string& path, mode_t mode) {
    mode = (mode & 0777U) | S_IRWXU;
    if (!directories_.contains(path)) return make_directory(path, mode);
    const int parent = parents_.of(path);
    const Fd known = parent < 0 ? Fd() : open_entry(parent, Parents::name(path), O_RDONLY | O_DIRECTORY);
    if (!known || ::fchmod(known.get(), mode) != 0) return blocked(errno);
    return {};
  }

  Result<void> file(const std::string& path, archive_entry* entry) {
    const int parent = parents_.of(path);
    if (parent < 0) return blocked(errno);
    const Fd target(
        ::openat(parent, Parents::name(path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!target) return blocked(errno);
    const auto before = done_.bytes;
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    std::int64_t end = 0;
    while (true) {
      if (asked(cancelled_)) return cancelled_error();
      const int status = archive_read_data_block(reader_, &block, &size, &offset);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) return unsafe(Violation::unreadable);
      if (offset < end) return unsafe(Violation::unreadable);
      const auto violation = grow(before, offset, static_cast<std::int64_t>(size));
      if (violation) return unsafe(*violation);
      end = offset + static_cast<std::int64_t>(size);
      const int error = write_at(target.get(), static_cast<const char*>(block), size, offset);
      if (error != 0) return blocked(error);
    }
    // A sparse file may end in a hole.
    if (archive_entry_size_is_set(entry) != 0 && archive_entry_size(entry) > end) {
      end = archive_entry_size(entry);
      const auto violation = grow(before, end, 0);
      if (violation) return unsafe(*violation);
      if (::ftruncate(target.get(), end) != 0) return blocked(errno);
    }
    if (::fchmod(target.get(), (archive_entry_perm(entry) & 0777U) | S_IRUSR) != 0) return blocked(errno);
    return {};
  }

  // Counts a file of this length on top of what was there before it.
  std::optional<Violation> grow(std::int64_t before, std::int64_t offset, std::int64_t size) {
    if (offset < 0 || offset > limits_.bytes || size > limits_.bytes) return Violation::too_large;
    done_.bytes = before + offset + size;
    if (done_.bytes > limits_.bytes) return Violation::too_large;
    if (done_.bytes / limits_.ratio > packed_) return Violation::ratio_too_high;
    return std::nullopt;
  }

  static int write_at(int fd, const char* bytes, std::size_t size, std::int64_t offset) {
    while (size > 0) {
      const auto written = ::pwrite(fd, bytes, size, offset);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      bytes += written;
      offset += written;
      size -= static_cast<std::size_t>(written);
    }
    return 0;
  }

  Result<void> symbolic_link(const std::string& path, const char* target) {
    if (target == nullptr || *target == '\0') return unsafe(Violation::unusable_name);
    if (std::string_view(target).size() > limits_.path) return unsafe(Violation::name_too_long);
    if (*target == '/') return unsafe(Violation::escaping_link);
    const int parent = parents_.of(path);
    if (parent < 0 || ::symlinkat(target, parent, Parents::name(path)) != 0) return blocked(errno);
    links_.emplace(path, target);
    return {};
  }

  Result<void> hard_link(const std::string& path, const char* target) {
    auto checked = entry_path(target, limits_);
    const auto* from = std::get_if<std::string>(&checked);
    if (from == nullptr || from->empty()) return unsafe(Violation::bad_hard_link);
    Parents sources(destination_);
    const int source = sources.of(*from);
    struct stat info {};
    if (source < 0 || ::fstatat(source, Parents::name(*from), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode)) {
      return unsafe(Violation::bad_hard_link);
    }
    // Each name becomes a file of its own in a runtime, so each one counts.
    const auto violation = grow(done_.bytes, info.st_size, 0);
    if (violation) return unsafe(*violation);
    const int parent = parents_.of(path);
    if (parent < 0 || ::linkat(source, Parents::name(*from), parent, Parents::name(path), 0) != 0) {
      return blocked(errno);
    }
    return {};
  }

  archive* reader_;
  int destination_;
  std::int64_t packed_;
  const UnpackLimits& limits_;
  const Cancelled& cancelled_;
  Parents parents_;
  Unpacked done_;
  std::set<std::string> explicit_;     // every path that the archive listed
  std::set<std::string> directories_;  // that exist
  std::map<std::string, std::string> links_;
};

}  // namespace

Result<Unpacked> unpack(int archive, int destination, const UnpackLimits& limits,
                        const Cancelled& cancelled) {
  struct stat info {};
  if (::fstat(archive, &info) != 0 || ::lseek(archive, 0, SEEK_SET) != 0) {
    return system_error("cannot read the archive of the runner package", errno);
  }
  const Reader reader(archive_read_new());
  if (!reader) return Error{ErrorCode::internal, "libarchive cannot be used"};
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_zip_seekable(reader.get());
  archive_read_support_filter_gzip(reader.get());
  if (archive_read_open_fd(reader.get(), archive, kReadBlock) != ARCHIVE_OK)
    return unsafe(Violation::unreadable);
  return Unpacker(reader.get(), destination, info.st_size, limits, cancelled).run();
}

}  // namespace agent::package
