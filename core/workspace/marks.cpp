#include "workspace/marks.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

namespace agent::workspace {

void clear_marks(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || (S_ISREG(info.st_mode) && info.st_nlink > 1)) return;
  int flags = 0;
  if (::ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0 || (flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)) == 0) return;
  flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
  ::ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

void make_writable(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return;
  if ((info.st_mode & S_IRWXU) != S_IRWXU) ::fchmod(fd, (info.st_mode & 07777U) | S_IRWXU);
}

}  // namespace agent::workspace
