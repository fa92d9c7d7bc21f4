#include "plugin/secrets.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "plugin/text.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using domain::Result;

constexpr std::size_t most_secret = 64 * 1024;

// A buffer of one size for the whole life of the value, so that no reallocation leaves a copy behind.
class Buffer {
 public:
  Buffer() : bytes_(std::make_unique<char[]>(capacity)) {}
  ~Buffer() { wipe(bytes_.get(), capacity); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  static constexpr std::size_t capacity = most_secret + 1;  // one more, to notice what is too large
  char* data() { return bytes_.get(); }

 private:
  std::unique_ptr<char[]> bytes_;
};

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Error fail(ErrorCode code, std::string_view reference, const std::string& why) {
  return {code, "The secret " + one_line(reference, 300) + " cannot be used: " + why, {}};
}

// The value ends up in the buffer; answers its size.
Result<std::size_t> read_file(std::string_view reference, const std::string& path, mode_t forbidden,
                              Buffer& buffer) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return fail(ErrorCode::not_found, reference, "there is no such file.");
    if (errno == ELOOP)
      return fail(ErrorCode::denied, reference,
                  "the file is a symbolic link; name the file that it points to.");
    return fail(ErrorCode::denied, reference,
                std::string("the file cannot be opened (") + std::strerror(errno) + ").");
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0)
    return fail(ErrorCode::denied, reference,
                std::string("the file cannot be examined (") + std::strerror(errno) + ").");
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::denied, reference, "it is not a regular file.");
  if (info.st_uid != 0 && info.st_uid != ::geteuid())
    return fail(ErrorCode::denied, reference,
                "the file belongs to another account; give it to root or to this one.");
  if ((info.st_mode & forbidden) != 0)
    return fail(ErrorCode::denied, reference,
                "other accounts can read or change the file; run chmod 600 on it.");
  std::size_t size = 0;
  while (size < Buffer::capacity) {
    const ssize_t got = ::read(file.get(), buffer.data() + size, Buffer::capacity - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return fail(ErrorCode::denied, reference,
                  std::string("the file cannot be read (") + std::strerror(errno) + ").");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return size;
}

bool plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0=", 3)) == std::string_view::npos;
}

Result<std::size_t> read_environment(std::string_view reference, const std::string& name, Buffer& buffer) {
  const char* value =
      std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe) nothing here changes the environment
  if (value == nullptr) return fail(ErrorCode::not_found, reference, "the variable is not set.");
  const std::size_t size = ::strnlen(value, Buffer::capacity);
  std::memcpy(buffer.data(), value, size);
  return size;
}

Result<std::size_t> read(std::string_view reference, Buffer& buffer) {
  const std::size_t colon = reference.find(':');
  const std::string_view kind = reference.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? "" : reference.substr(colon + 1);
  if (kind == "file" && rest.starts_with('/') && rest.size() <= 4096 &&
      rest.find('\0') == std::string_view::npos)
    return read_file(reference, std::string(rest), 077, buffer);
  if (kind == "env" && plain_name(rest)) return read_environment(reference, std::string(rest), buffer);
  if (kind == "credential" && plain_name(rest)) {
    const char* directory = std::getenv("CREDENTIALS_DIRECTORY");  // NOLINT(concurrency-mt-unsafe)
    if (directory == nullptr)
      return fail(ErrorCode::not_found, reference, "the service manager passed no credentials directory.");
    return read_file(reference, std::string(directory) + "/" + std::string(rest), 037, buffer);
  }
  // The text may be a secret that somebody wrote where a reference belongs, so it is not repeated.
  return Error{ErrorCode::invalid, "A secret reference must be file:/PATH, env:NAME or credential:NAME.", {}};
}

}  // namespace

void wipe(void* data, std::size_t size) { OPENSSL_cleanse(data, size); }

Result<void> with_secret(std::string_view reference, const std::function<void(std::string_view)>& use) {
  Buffer buffer;
  const Result<std::size_t> size = read(reference, buffer);
  if (!size) return size.error();
  if (*size > most_secret) return fail(ErrorCode::invalid, reference, "the value is larger than 64 KiB.");
  std::string_view value(buffer.data(), *size);
  while (!value.empty() && (value.back() == ' ' || (value.back() >= '\t' && value.back() <= '\r')))
    value.remove_suffix(1);
  if (value.empty()) return fail(ErrorCode::invalid, reference, "the value is empty.");
  // A key in PEM form has lines; nothing else that is a secret does.
  const bool lines = value.starts_with("-----BEGIN ") && value.ends_with("-----");
  for (const char c : value) {
    if (lines && (c == '\n' || c == '\r')) continue;
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      return fail(ErrorCode::invalid, reference, "the value has control characters or several lines.");
  }
  use(value);
  return {};
}

}  // namespace agent::plugin
