#include "native/shared_directories.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "native/files.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

constexpr std::size_t most_names = 1'000;
constexpr unsigned no_replace = 1;  // RENAME_NOREPLACE

[[noreturn]] void defer(const std::string& what) {
  throw rmgr::Error(rmgr::Status::retry, what + ": " + std::strerror(errno) +
                                             "; remove what the job account left there if it stays so.");
}

// Some of the names in a directory, at most `most_names` that `wanted` takes; all of them after some rounds
// of removal.
std::vector<std::string> some_names(int directory, const std::function<bool(const char*)>& wanted) {
  Descriptor copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(copy ? ::fdopendir(copy.get()) : nullptr, ::closedir);
  if (!listing) defer("A directory of a job account cannot be listed");
  static_cast<void>(copy.release());
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(listing.get())) {
    const bool itself = std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0;
    if (!itself && wanted(entry->d_name)) names.emplace_back(entry->d_name);
    if (names.size() == most_names) break;
  }
  return names;
}

// Empties one directory. Directories below it are moved up into it before they are emptied in their turn, so
// their depth does not matter, neither to the stack nor to the number of open descriptors.
class Emptying {
 public:
  Emptying(const rmgr::Call& call, int top) : call_(call), top_(top) {}

  void run() {
    for (;;) {
      const auto names = some_names(top_, [](const char*) { return true; });
      if (names.empty()) return;
      for (const std::string& name : names)
        remove(name);
    }
  }

 private:
  void remove(const std::string& name) {
    if (::unlinkat(top_, name.c_str(), 0) == 0 || errno == ENOENT) return;
    const Descriptor inner(::openat(top_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) defer("A file of a job account cannot be removed");
    for (;;) {
      call_.check();
      const auto below = some_names(inner.get(), [](const char*) { return true; });
      if (below.empty()) break;
      for (const std::string& each : below) {
        if (::unlinkat(inner.get(), each.c_str(), 0) != 0 && errno != ENOENT) move_up(inner.get(), each);
      }
    }
    if (::unlinkat(top_, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
      defer("A directory of a job account cannot be removed");
  }

  void move_up(int from, const std::string& name) {
    if (::unlinkat(from, name.c_str(), AT_REMOVEDIR) == 0) return;
    do {
      const std::string up = ".up-" + std::to_string(moved_++);
      if (::syscall(SYS_renameat2, from, name.c_str(), top_, up.c_str(), no_replace) == 0) return;
    } while (errno == EEXIST);
    defer("A directory of a job account cannot be removed");
  }

  const rmgr::Call& call_;
  int top_;
  std::uint64_t moved_ = 0;
};

void remove_entry(const rmgr::Call& call, std::uint32_t uid, int at, const std::string& name) {
  if (::unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT) return;
  const Descriptor directory(::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!directory || ::fstat(directory.get(), &info) != 0) defer("A file of a job account cannot be removed");
  if (info.st_uid != uid) return;  // another one has taken the name meanwhile
  // From here on nobody else gets in.
  if (::fchmod(directory.get(), 0700) != 0) defer("A directory of a job account cannot be closed");
  Emptying(call, directory.get()).run();
  if (::unlinkat(at, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    defer("A directory of a job account cannot be removed");
}

void clear(const rmgr::Call& call, std::uint32_t uid, int directory) {
  const auto owned = [&](const char* name) {
    struct stat info {};
    return ::fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_uid == uid;
  };
  for (;;) {
    call.check();
    const auto names = some_names(directory, owned);
    if (names.empty()) return;
    for (const std::string& name : names)
      remove_entry(call, uid, directory, name);
  }
}

// Queues exist whether somebody mounted their filesystem or not. This mount is in no tree and goes with its
// handle.
Descriptor message_queues() {
  const Descriptor kind(static_cast<int>(::syscall(SYS_fsopen, "mqueue", FSOPEN_CLOEXEC)));
  if (!kind || ::syscall(SYS_fsconfig, kind.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return Descriptor(static_cast<int>(::syscall(SYS_fsmount, kind.get(), FSMOUNT_CLOEXEC, 0)));
}

}  // namespace

std::vector<std::string> schedule_spools() { return {"/var/spool/cron", "/var/spool/at"}; }

std::vector<std::string> schedule_directories() {
  std::vector<std::string> all = schedule_spools();
  all.insert(all.end(), {"/var/spool/cron/crontabs", "/var/spool/cron/atjobs"});
  return all;
}

std::vector<std::string> shared_directories() {
  return {"/dev/shm", "/dev/mqueue", "/tmp", "/var/tmp", "/run/lock"};
}

void remove_files(const rmgr::Call& call, std::uint32_t uid, const std::vector<std::string>& directories) {
  for (const std::string& path : directories) {
    const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory) {
      clear(call, uid, directory.get());
    } else if (errno != ENOENT) {
      defer(path + " cannot be opened");
    }
  }
}

void remove_message_queues(const rmgr::Call& call, std::uint32_t uid) {
  if (const Descriptor queues = message_queues()) clear(call, uid, queues.get());
}

}  // namespace native
