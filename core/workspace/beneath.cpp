#include "workspace/beneath.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <string>

namespace agent::workspace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

namespace {

Fd open_by_kernel(int directory, const char* name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  // EAGAIN means that a rename elsewhere got in between.
  for (int tries = 0;; ++tries) {
    const auto fd = ::syscall(SYS_openat2, directory, name, &how, sizeof how);
    if (fd >= 0) return Fd(static_cast<int>(fd));
    if ((errno != EAGAIN && errno != EINTR) || tries >= 16) return {};
  }
}

std::optional<std::uint64_t> mount_id_of_fdinfo(int fd) {
  const auto path = "/proc/self/fdinfo/" + std::to_string(fd);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text(1024, '\0');
  const auto got = ::read(file.get(), text.data(), text.size());
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  static constexpr std::string_view kKey = "mnt_id:\t";
  const auto at = text.find(kKey);
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t id = 0;
  const auto* begin = text.data() + at + kKey.size();
  if (std::from_chars(begin, text.data() + text.size(), id).ec != std::errc{}) return std::nullopt;
  return id;
}

}  // namespace

std::optional<std::uint64_t> mount_id(int fd) {
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) == 0 && (info.stx_mask & STATX_MNT_ID) != 0) {
    return info.stx_mnt_id;
  }
  return mount_id_of_fdinfo(fd);
}

Result<Beneath> Beneath::make(int top, Resolve resolve) {
  Beneath made;
  if (resolve != Resolve::portable) {
    made.by_kernel_ = static_cast<bool>(open_by_kernel(top, ".", O_PATH | O_DIRECTORY));
    if (made.by_kernel_) return made;
    if (resolve == Resolve::kernel) return system_error("this kernel cannot open beneath a directory", errno);
  }
  const auto mount = mount_id(top);
  if (!mount) {
    return Error{
        ErrorCode::unsupported,
        "this system cannot tell mounts apart (no openat2, no mount ids), so nothing is removed; mount "
        "/proc or use a newer kernel"};
  }
  made.mount_ = *mount;
  return made;
}

Fd Beneath::open(int directory, const char* name, int flags) const {
  if (by_kernel_) return open_by_kernel(directory, name, flags);
  Fd fd(::openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC));
  if (fd && mount_id(fd.get()) != mount_) {
    fd = Fd();
    errno = EXDEV;
  }
  return fd;
}

}  // namespace agent::workspace
