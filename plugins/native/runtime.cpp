#include "native/runtime.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "native/containment.hpp"
#include "native/files.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

constexpr int max_depth = 200;
constexpr std::size_t max_entries = 5'000'000;
constexpr long overlay_magic = 0x794c7630;

[[noreturn]] void fail(const std::string& what) {
  const int why = errno;
  throw rmgr::Error(why == ENOSPC || why == EIO ? rmgr::Status::retry : rmgr::Status::invalid,
                    what + ": " + std::strerror(why) + ".");
}

struct Looked {
  std::uint64_t mount = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t links = 0;
  std::uint32_t mode = 0;
};

std::optional<Looked> look(int fd) {
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &info) != 0) return std::nullopt;
  // Without mount ids (before Linux 5.8) the device stands in.
  const std::uint64_t mount =
      (info.stx_mask & STATX_MNT_ID) != 0
          ? info.stx_mnt_id
          : static_cast<std::uint64_t>(makedev(info.stx_dev_major, info.stx_dev_minor));
  return Looked{mount, info.stx_uid, info.stx_gid, info.stx_nlink, info.stx_mode};
}

class Giver {
 public:
  Giver(const rmgr::Call& call, const Account& account, std::uint64_t mount, bool files)
      : call_(call), account_(account), mount_(mount), files_(files) {}

  // `fd` is an O_PATH handle, so what is looked at is what is given, whatever its name means meanwhile.
  void give(int fd, const Looked& entry) const {
    if (entry.uid == account_.uid && entry.gid == account_.gid) return;
    if (!S_ISDIR(entry.mode) && (!files_ || entry.links > 1)) return;
    if (::fchownat(fd, "", account_.uid, account_.gid, AT_EMPTY_PATH) != 0) {
      fail("A file of the runtime could not be given to " + account_.name);
    }
  }

  void walk(int directory, int depth) {
    if (depth > max_depth) {
      throw rmgr::Error(rmgr::Status::invalid, "The runtime is nested more than 200 levels deep; clear it.");
    }
    // A second handle, since reading a directory needs one that O_PATH is not.
    Descriptor readable(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!readable) fail("A directory of the runtime could not be read");
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(readable.get()), ::closedir);
    if (!listing) fail("A directory of the runtime could not be read");
    static_cast<void>(readable.release());
    while (const dirent* entry = ::readdir(listing.get())) {
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
      if (++entries_ > max_entries) {
        throw rmgr::Error(rmgr::Status::invalid, "The runtime holds more than 5 million entries; clear it.");
      }
      if (entries_ % 256 == 0) call_.check();
      const Descriptor fd(::openat(directory, entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
      const auto seen = fd ? look(fd.get()) : std::nullopt;
      if (!seen) fail("A file of the runtime could not be examined");
      if (seen->mount != mount_) continue;
      give(fd.get(), *seen);
      if (S_ISDIR(seen->mode)) walk(fd.get(), depth + 1);
    }
  }

 private:
  const rmgr::Call& call_;
  const Account& account_;
  std::uint64_t mount_;
  bool files_;
  std::size_t entries_ = 0;
};

void make_private(int runtime, const char* name, const Account& account, mode_t mode = 0700) {
  if (::mkdirat(runtime, name, 0700) != 0 && errno != EEXIST) fail("A private directory could not be made");
  Descriptor fd(::openat(runtime, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    // An earlier job of a kept workspace put something else in its place.
    if (::unlinkat(runtime, name, 0) != 0 || ::mkdirat(runtime, name, 0700) != 0) {
      fail("A private directory could not be made");
    }
    fd = Descriptor(::openat(runtime, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!fd || ::fchmod(fd.get(), mode) != 0) fail("A private directory could not be made");
  const auto seen = look(fd.get());
  if (!seen) fail("A private directory could not be examined");
  if (seen->uid != account.uid || seen->gid != account.gid) {
    if (::fchown(fd.get(), account.uid, account.gid) != 0)
      fail("A private directory could not be given to " + account.name);
  }
}

// The account must be able to pass through every directory above its own.
void check_way(const std::string& runtime, const Account& account) {
  if (account.uid == 0) return;
  for (std::size_t slash = runtime.rfind('/'); slash != std::string::npos && slash > 0;
       slash = runtime.rfind('/', slash - 1)) {
    const std::string parent = runtime.substr(0, slash);
    struct stat info {};
    if (::stat(parent.c_str(), &info) != 0) fail("The directory " + parent + " cannot be examined");
    const mode_t bit = info.st_uid == account.uid ? S_IXUSR : info.st_gid == account.gid ? S_IXGRP : S_IXOTH;
    if ((info.st_mode & bit) == 0) {
      throw rmgr::Error(rmgr::Status::invalid,
                        "The account " + account.name + " cannot pass through " + parent +
                            "; allow it with chmod o+x, or use another root directory.");
    }
  }
}

}  // namespace

std::string listener_of(const std::string& package) {
  std::string path = package + "/bin/Runner.Listener";
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) fail("The runner package has no usable bin/Runner.Listener");
  if (!S_ISREG(info.st_mode) || (info.st_mode & S_IXUSR) == 0) {
    throw rmgr::Error(
        rmgr::Status::invalid,
        "bin/Runner.Listener of the runner package is not an executable file; the package is damaged or "
        "not a runner package.");
  }
  return path;
}

void give_runtime(const rmgr::Call& call, const std::string& runtime, const Account& account, bool own_tmp) {
  check_way(runtime, account);
  const Descriptor top(::open(runtime.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top) fail("The runtime directory cannot be opened");
  make_private(top.get(), home_directory, account);
  make_private(top.get(), temp_directory, account);
  // As open as the directories they stand for; nobody else gets there, because the runtime above is closed.
  for (const char* name : {tmp_directory, var_tmp_directory}) {
    if (own_tmp) make_private(top.get(), name, account, 01777);
  }
  if (account.uid == ::geteuid()) return;
  const auto seen = look(top.get());
  struct statfs filesystem {};
  if (!seen || ::fstatfs(top.get(), &filesystem) != 0) fail("The runtime directory cannot be examined");
  Giver giver(call, account, seen->mount, filesystem.f_type != overlay_magic);
  giver.walk(top.get(), 0);
  giver.give(top.get(), *seen);  // last: until then nobody but us can reach into it
}

bool is_prepared(const std::string& runtime) {
  struct stat info {};
  return ::lstat((runtime + '/' + home_directory).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace native
