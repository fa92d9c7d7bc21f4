#include "process/records.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "process/protocol.hpp"

namespace agent::process {
namespace {

using domain::Error;
using domain::ErrorCode;

Error failed(std::string_view key, const char* what, int error_number) {
  return Error{error_number == ENOSPC ? ErrorCode::full : ErrorCode::retry,
               "The process record of " + std::string(key) + " could not be " + what + ": " +
                   std::strerror(error_number) + "."};
}

std::string place(std::string_view key, const char* file) { return std::string(key) + '/' + file; }

// Takes "name value\n" off the front of `text`.
std::optional<std::string_view> take(std::string_view& text, std::string_view name) {
  if (text.substr(0, name.size()) != name || text.size() <= name.size() || text[name.size()] != ' ') {
    return std::nullopt;
  }
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view value = text.substr(name.size() + 1, end - name.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

template <class T>
bool take_number(std::string_view& text, std::string_view name, T& out) {
  const auto value = take(text, name);
  if (!value) return false;
  const auto [end, failure] = std::from_chars(value->data(), value->data() + value->size(), out);
  return failure == std::errc() && end == value->data() + value->size();
}

}  // namespace

Result<void> check_key(std::string_view key) {
  const bool good = !key.empty() && key.size() <= 128 && key.front() != '.' &&
                    std::all_of(key.begin(), key.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                             c == '-' || c == '_' || c == '.';
                    });
  if (good) return {};
  return Error{ErrorCode::invalid,
               "The key of a process must be 1 to 128 letters, digits, dashes, underscores or dots, "
               "and not begin with a dot."};
}

Result<ExitRecord> parse_exit_record(std::string_view text) {
  ExitRecord record;
  int version = 0;
  int oom = 0;
  if (!take_number(text, "rmgr-exit", version) || version != 1 || !take_number(text, "code", record.code) ||
      !take_number(text, "signal", record.signal) || !take_number(text, "oom", oom) || record.code < 0 ||
      record.code > 255 || record.signal < 0 || record.signal > 64) {
    return Error{ErrorCode::corrupt, "An exit record is damaged or of an unknown version."};
  }
  record.out_of_memory = oom == 1;
  return record;
}

Result<ChildRecord> parse_child_record(std::string_view text) {
  ChildRecord record;
  int version = 0;
  if (!take_number(text, "rmgr-child", version) || version != 1 ||
      !take_number(text, "pid", record.identity.pid) ||
      !take_number(text, "start", record.identity.start_token) || !take_number(text, "uid", record.uid)) {
    return Error{ErrorCode::corrupt, "A child record is damaged or of an unknown version."};
  }
  const auto boot = take(text, "boot");
  if (!boot || boot->empty())
    return Error{ErrorCode::corrupt, "A child record is damaged: it names no boot."};
  record.identity.boot_id = domain::BootId(std::string(*boot));
  return record;
}

Result<Records> Records::open(const std::string& path) {
  if (path.empty() || path.front() != '/') {
    return Error{ErrorCode::invalid, "The directory of process records must be an absolute path."};
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error{ErrorCode::invalid, "The directory of process records " + path +
                                         " cannot be made: " + std::strerror(errno) + "."};
  }
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) {
    return Error{ErrorCode::invalid, "The directory of process records " + path +
                                         " cannot be opened: " + std::strerror(errno) + "."};
  }
  if (info.st_uid != ::geteuid() || (info.st_mode & 077U) != 0) {
    return Error{ErrorCode::denied,
                 "The directory of process records " + path +
                     " must belong to this account with mode 0700, because who can write it can "
                     "forge how a runner ended."};
  }
  return Records(std::move(fd));
}

Result<void> Records::make(std::string_view key) const {
  if (::mkdirat(directory_.get(), std::string(key).c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return failed(key, "made", errno);
  for (const char* file : {wire::child_file, wire::exit_file}) {
    if (::faccessat(directory_.get(), place(key, file).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
      return Error{ErrorCode::exists, "A process ran under the key " + std::string(key) +
                                          " before; its record must be forgotten first."};
    }
  }
  if (::unlinkat(directory_.get(), place(key, wire::released_file).c_str(), 0) != 0 && errno != ENOENT) {
    return failed(key, "made", errno);
  }
  return {};
}

Result<void> Records::mark_released(std::string_view key) const {
  const Fd fd(::openat(directory_.get(), place(key, wire::released_file).c_str(),
                       O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return failed(key, "marked", errno);
  return {};
}

Result<bool> Records::released(std::string_view key) const {
  auto text = read(key, wire::released_file);
  if (!text) return text.error();
  return text->has_value();
}

Result<std::optional<std::string>> Records::read(std::string_view key, const char* file) const {
  const Fd fd(::openat(directory_.get(), place(key, file).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) {
    if (errno == ENOENT) return std::optional<std::string>();
    return failed(key, "read", errno);
  }
  char text[1024];
  const ssize_t size = ::read(fd.get(), text, sizeof text);
  if (size < 0) return failed(key, "read", errno);
  return std::optional<std::string>(std::string(text, static_cast<std::size_t>(size)));
}

Result<std::optional<ExitRecord>> Records::exit_record(std::string_view key) const {
  auto text = read(key, wire::exit_file);
  if (!text) return text.error();
  if (!*text) return std::optional<ExitRecord>();
  auto record = parse_exit_record(**text);
  if (!record) return record.error();
  return std::optional<ExitRecord>(*record);
}

Result<std::optional<ChildRecord>> Records::child_record(std::string_view key) const {
  auto text = read(key, wire::child_file);
  if (!text) return text.error();
  if (!*text) return std::optional<ChildRecord>();
  auto record = parse_child_record(**text);
  if (!record) return record.error();
  return std::optional<ChildRecord>(*record);
}

Result<void> Records::remove(std::string_view key) const {
  // The exit record goes last: until then the key still tells how it ended.
  for (const char* file :
       {wire::released_file, wire::child_draft, wire::exit_draft, wire::child_file, wire::exit_file}) {
    if (::unlinkat(directory_.get(), place(key, file).c_str(), 0) != 0 && errno != ENOENT) {
      return failed(key, "removed", errno);
    }
  }
  if (::unlinkat(directory_.get(), std::string(key).c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return failed(key, "removed", errno);
  }
  return {};
}

}  // namespace agent::process
