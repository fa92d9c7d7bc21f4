#include "workspace/handle.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace agent::workspace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

namespace {
ErrorCode code_of(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS: return ErrorCode::denied;
    case ENOENT: return ErrorCode::not_found;
    case EEXIST: return ErrorCode::exists;
    case ENOSPC:
    case EDQUOT: return ErrorCode::full;
    case EBUSY:
    case EXDEV: return ErrorCode::busy;
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG: return ErrorCode::invalid;
    default: return ErrorCode::retry;
  }
}
}  // namespace

Error system_error(std::string_view what, int error) {
  return Error{code_of(error), std::string(what) + ": " + std::generic_category().message(error)};
}

bool is_entry_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::optional<std::vector<std::string>> components(std::string_view path) {
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string_view::npos) return std::nullopt;
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::nullopt;
    parts.emplace_back(part);
  }
  return parts;
}

namespace {
Result<Fd> walk(std::string_view path, const std::vector<std::string>& parts, std::size_t count) {
  Fd here(::open("/", (count == 0 ? O_RDONLY : O_PATH) | O_DIRECTORY | O_CLOEXEC));
  if (!here) return system_error("cannot open /", errno);
  for (std::size_t i = 0; i < count; ++i) {
    const int access = i + 1 == count ? O_RDONLY : O_PATH;
    Fd next(::openat(here.get(), parts[i].c_str(), access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return system_error("cannot open the directory " + std::string(path), errno);
    here = std::move(next);
  }
  return here;
}
Error not_a_path() {
  return Error{ErrorCode::invalid, "a directory must be named by an absolute path without '..'"};
}
}  // namespace

Result<Fd> open_directory(std::string_view path) {
  const auto parts = components(path);
  if (!parts) return not_a_path();
  return walk(path, *parts, parts->size());
}

Result<Place> open_parent(std::string_view path) {
  const auto parts = components(path);
  if (!parts || parts->empty()) return not_a_path();
  auto parent = walk(path, *parts, parts->size() - 1);
  if (!parent) return parent.error();
  return Place{std::move(*parent), parts->back()};
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int remove_file(int directory, const std::string& name) {
  return ::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT ? 0 : errno;
}

std::string random_suffix() {
  std::array<unsigned char, 8> bytes{};
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += kHex[byte >> 4U];
    text += kHex[byte & 15U];
  }
  return text;
}

}  // namespace agent::workspace
