#include "native/hook_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "native/files.hpp"
#include "rmgr/error.hpp"

namespace native {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw rmgr::Error(rmgr::Status::invalid, "The hook " + path + " " + why);
}

bool trusted(const struct stat& info) { return info.st_uid == 0 || info.st_uid == ::geteuid(); }

bool others_can_write(const struct stat& info) { return (info.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

// In a sticky directory only the owner of an entry can rename or remove it, and each entry's owner is looked
// at too.
bool others_can_replace_entries(const struct stat& info) {
  return others_can_write(info) && (info.st_mode & S_ISVTX) == 0;
}

void check_directory(const std::string& path, const std::string& place, const struct stat& info) {
  if (!trusted(info) || others_can_replace_entries(info)) {
    refuse(path, "can be replaced by others, who can write its directory " + place + "; give " + place +
                     " to root with mode 0755, or move the hook.");
  }
}

void check_program(const std::string& path, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) refuse(path, "is not a regular file; name a program or a script.");
  if (!trusted(info) || others_can_write(info)) {
    refuse(path, "can be changed by others; give it to root or this agent's account with mode 0755 or less.");
  }
  if ((info.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0)
    refuse(path, "is not executable; run chmod u+x on it.");
}

}  // namespace

void check_hook_file(const std::string& path) {
  if (path.empty() || path.front() != '/') refuse(path, "has no absolute path; name it from / on.");
  Descriptor at(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string place = "/";
  struct stat info {};
  for (std::size_t begin = 1;;) {
    if (!at || ::fstat(at.get(), &info) != 0)
      refuse(path, "cannot be examined: " + std::string(std::strerror(errno)) + ".");
    check_directory(path, place, info);
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == "..")
      refuse(path, "has an empty, '.' or '..' part; name it by its plain path.");
    Descriptor next(::openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    place = path.substr(0, end);
    if (!next || ::fstat(next.get(), &info) != 0)
      refuse(path, "cannot be found: " + place + ": " + std::strerror(errno) + ".");
    if (S_ISLNK(info.st_mode))
      refuse(path,
             "is reached through the symbolic link " + place + "; name it by the path that realpath prints.");
    if (end == path.size()) return check_program(path, info);
    if (!S_ISDIR(info.st_mode)) refuse(path, "cannot be found: " + place + " is not a directory.");
    at = std::move(next);
    begin = end + 1;
  }
}

}  // namespace native
