#include "observe/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace agent::observe {
namespace {

domain::Error refused(const std::string& path, int error) {
  const std::string why = error == ELOOP ? "a link stands in its place; name the file itself"
                                         : std::generic_category().message(error);
  const bool denied = error == EACCES || error == EPERM || error == EROFS || error == ELOOP;
  return {denied ? domain::ErrorCode::denied : domain::ErrorCode::invalid,
          "the log file " + path + " cannot be opened: " + why};
}

}  // namespace

domain::Result<LogFile> LogFile::open(const std::string& path) {
  if (path.empty()) return LogFile(STDERR_FILENO, false);
  const int fd = ::open(path.c_str(),
                        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd < 0) return refused(path, errno);
  LogFile file(fd, true);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return refused(path, errno);
  if (!S_ISREG(status.st_mode)) {
    return domain::Error{domain::ErrorCode::invalid,
                         "the log file " + path + " is not a regular file; name another one"};
  }
  return file;
}

LogFile::LogFile(LogFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      owned_(std::exchange(other.owned_, false)),
      broken_line_(other.broken_line_) {}

LogFile& LogFile::operator=(LogFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(owned_, other.owned_);
  std::swap(broken_line_, other.broken_line_);
  return *this;
}

LogFile::~LogFile() {
  if (owned_) ::close(fd_);
}

bool LogFile::append(std::string_view line) {
  const std::string whole = (broken_line_ ? "\n" : "") + std::string(line) + "\n";
  std::string_view rest = whole;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (rest.size() != whole.size()) broken_line_ = !rest.empty();
  return rest.empty();
}

}  // namespace agent::observe
