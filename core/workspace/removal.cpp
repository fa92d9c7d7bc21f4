#include "workspace/removal.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "crash_point.hpp"
#include "workspace/beneath.hpp"
#include "workspace/handle.hpp"
#include "workspace/marks.hpp"

namespace agent::workspace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

struct Level {
  std::unique_ptr<DIR, CloseDirectory> stream;
  std::string name;       // in the level above
  int passes = 0;         // that ended with entries left
  std::int64_t kept = 0;  // entries of this pass that cannot be removed
  [[nodiscard]] int fd() const { return ::dirfd(stream.get()); }
};

// Why entries stay, counted; names never leave this file.
struct Obstacles {
  std::int64_t mounts = 0, denied = 0, read_only = 0, other = 0;
  [[nodiscard]] bool any() const { return mounts + denied + read_only + other > 0; }
  void count(int error) {
    if (error == EBUSY || error == EXDEV) {
      ++mounts;
    } else if (error == EACCES || error == EPERM) {
      ++denied;
    } else if (error == EROFS) {
      ++read_only;
    } else {
      ++other;
    }
  }
};

std::string magic_link(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

class Remover {
 public:
  Remover(int parent, const std::string& name, const RemovalOptions& options, Beneath beneath)
      : parent_(parent), name_(name), options_(options), beneath_(beneath) {}

  Result<Removal> run() {
    visit(parent_, name_.c_str(), true);
    while (!levels_.empty() && !late())
      step();
    levels_.clear();
    return verdict();
  }

 private:
  void step() {
    Level& level = levels_.back();
    const dirent* entry = ::readdir(level.stream.get());
    if (entry == nullptr) {
      finish();
      return;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") return;
    const std::string copy(name);  // the stream's buffer does not outlive a deeper level
    visit(level.fd(), copy.c_str(), entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
  }

  // Removes one entry, or goes into it. A wrong guess about its type costs a call and nothing else.
  void visit(int directory, const char* name, bool maybe_directory) {
    if (!maybe_directory) {
      const int error = unlink(directory, name, 0);
      if (error != EISDIR) return settle(error);
    }
    if (levels_.size() >= options_.levels && pull_up(directory, name)) return;
    Fd opened = open_level(directory, name);
    if (!opened) {
      const int error = errno;
      if (error == ENOTDIR || error == ELOOP) return settle(unlink(directory, name, 0));
      return settle(error);
    }
    if (levels_.size() >= options_.levels) return settle(EMLINK);
    make_writable(opened.get());
    DIR* stream = ::fdopendir(opened.get());
    if (stream == nullptr) return settle(errno);
    [[maybe_unused]] const int owned_by_stream = opened.release();
    levels_.push_back(Level{std::unique_ptr<DIR, CloseDirectory>(stream), name});
  }

  void settle(int error) {
    if (error == 0) {
      ++removed_;
    } else if (error != ENOENT && error != EISDIR && error != ENOTDIR) {  // those: it was just swapped
      obstacles_.count(error);
      if (!levels_.empty()) ++levels_.back().kept;
    }
  }

  // 0 or the errno. A refusal that a mode or a mark explains is tried again without them.
  int unlink(int directory, const char* name, int flags) {
    RMGR_CRASH_POINT("workspace.removal.unlink");
    if (::unlinkat(directory, name, flags) == 0) return 0;
    if (errno != EPERM && errno != EACCES) return errno;
    loosen(directory, name);
    return ::unlinkat(directory, name, flags) == 0 ? 0 : errno;
  }

  void loosen(int directory, const char* name) {
    if (directory != parent_) {
      make_writable(directory);
      clear_marks(directory);
    }
    const Fd entry = beneath_.open(directory, name, O_PATH);
    struct stat info {};
    if (!entry || ::fstat(entry.get(), &info) != 0) return;
    // Only kinds whose opening has no effect; through the descriptor, so that it is the file just looked at.
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return;
    const Fd file(::open(magic_link(entry.get()).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (file) clear_marks(file.get());
  }

  Fd open_level(int directory, const char* name) {
    Fd opened = beneath_.open(directory, name, O_RDONLY | O_DIRECTORY);
    if (opened || errno != EACCES) return opened;
    const Fd closed = beneath_.open(directory, name, O_PATH | O_DIRECTORY);
    if (!closed) return {};
    const auto link = magic_link(closed.get());
    if (::chmod(link.c_str(), S_IRWXU) != 0) return {};
    return Fd(::open(link.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  bool pull_up(int directory, const char* name) {
    if (pulls_ >= kMaximumPulls) return false;
    const int top = levels_.front().fd();
    for (int tries = 0; tries < 3; ++tries) {
      const auto fresh = "pulled-" + random_suffix();
      if (::renameat2(directory, name, top, fresh.c_str(), RENAME_NOREPLACE) == 0) {
        ++pulls_;
        pulled_in_pass_ = true;
        return true;
      }
      if (errno == ENOENT) return true;
      // A directory that changes its parent must be writable itself.
      if (errno == EACCES || errno == EPERM) {
        const Fd entry = open_level(directory, name);
        if (entry) make_writable(entry.get());
        loosen(directory, name);
      }
    }
    return false;
  }

  void finish() {
    Level& level = levels_.back();
    const bool top = levels_.size() == 1;
    const int above = top ? parent_ : levels_[levels_.size() - 2].fd();
    RMGR_CRASH_POINT("workspace.removal.rmdir");
    int error = unlink(above, level.name.c_str(), AT_REMOVEDIR);
    if (error == ENOTEMPTY || error == EEXIST) {
      if (again(level, top)) return;
      levels_.pop_back();
      if (!levels_.empty()) ++levels_.back().kept;
      return;
    }
    const std::string name = level.name;
    levels_.pop_back();
    // Somebody put something else under this name while its old directory was emptied.
    if (error == ENOTDIR) error = unlink(above, name.c_str(), 0);
    settle(error);
  }

  bool again(Level& level, bool top) {
    const bool pulled = top && std::exchange(pulled_in_pass_, false);
    if (!pulled && (level.kept > 0 || ++level.passes >= options_.passes)) return false;
    if (top) obstacles_ = {};
    level.kept = 0;
    ::rewinddir(level.stream.get());
    return true;
  }

  bool late() {
    if ((++steps_ & 255U) != 0) return false;
    cancelled_ = options_.cancelled && options_.cancelled();
    if (cancelled_) return true;
    return std::chrono::steady_clock::now() - begun_ >= options_.limit;
  }

  Result<Removal> verdict() const {
    struct stat info {};
    Removal removal{removed_, false};
    if (::fstatat(parent_, name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) return system_error("cannot prove that the runtime is gone", errno);
      removal.complete = true;
      return removal;
    }
    if (cancelled_) return Error{ErrorCode::cancelled, "the removal of the runtime was asked to stop"};
    if (!obstacles_.any()) return removal;
    const auto counts = " (" + std::to_string(removed_) +
                        " entries removed; kept: " + std::to_string(obstacles_.mounts) +
                        " in use as mounts, " + std::to_string(obstacles_.denied) + " refused, " +
                        std::to_string(obstacles_.read_only) + " on a read-only filesystem, " +
                        std::to_string(obstacles_.other) + " for other reasons)";
    if (obstacles_.mounts > 0) {
      return Error{ErrorCode::busy, "a mount is in the way inside the runtime; unmount it" + counts};
    }
    if (obstacles_.denied + obstacles_.read_only > 0) {
      return Error{ErrorCode::denied, "entries of the runtime cannot be removed by this account" + counts};
    }
    return Error{ErrorCode::retry, "entries of the runtime cannot be removed" + counts};
  }

  static constexpr std::int64_t kMaximumPulls = 200'000;

  int parent_;
  const std::string& name_;
  const RemovalOptions& options_;
  Beneath beneath_;
  std::vector<Level> levels_;
  Obstacles obstacles_;
  std::int64_t removed_ = 0;
  std::int64_t pulls_ = 0;
  bool pulled_in_pass_ = false;
  bool cancelled_ = false;
  std::uint64_t steps_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<Removal> remove_entry(int parent, const std::string& name, const RemovalOptions& options) {
  if (!is_entry_name(name))
    return Error{ErrorCode::invalid, "a runtime is named by one plain directory name"};
  auto beneath = Beneath::make(parent, options.resolve);
  if (!beneath) return beneath.error();
  return Remover(parent, name, options, *beneath).run();
}

Result<Removal> remove_runtime(const std::string& root, const std::string& name,
                               std::function<bool()> cancelled) {
  auto directory = open_directory(root);
  if (!directory) {
    if (directory.error().code == ErrorCode::not_found) return Removal{0, true};
    return directory.error();
  }
  RemovalOptions options;
  options.cancelled = std::move(cancelled);
  return remove_entry(directory->get(), name, options);
}

}  // namespace agent::workspace
