#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "plugin/manifest.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;

constexpr std::size_t most_bytes = std::size_t{1} << 30U;

struct Free {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

Error unreadable(const std::string& path) {
  return {ErrorCode::denied, "The library " + path + " cannot be read; install it anew.", {}};
}

bool same(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

bool same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         same(one.st_mtim, other.st_mtim) && same(one.st_ctim, other.st_ctim);
}

std::string hex_of(EVP_MD_CTX* context) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(context, bytes.data(), &size);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[bytes[i] >> 4U];
    hex += digits[bytes[i] & 15U];
  }
  return hex;
}

// False if it cannot be read to its end, or has none soon enough.
bool hash(int file, EVP_MD_CTX* context) {
  std::vector<char> buffer(std::size_t{64} * 1024);
  std::size_t total = 0;
  while (true) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    total += static_cast<std::size_t>(got);
    if (total > most_bytes) return false;
    EVP_DigestUpdate(context, buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

struct HashedFile::Open {
  explicit Open(int opened) : file(opened) {}
  ~Open() {
    if (file >= 0) ::close(file);
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  const int file;
  struct stat state {};
};

domain::Result<HashedFile> HashedFile::read(const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
    return Error{ErrorCode::internal, "SHA-256 is not available in this build of OpenSSL.", {}};
  // A pipe in its place must not keep us waiting.
  const auto open =
      std::make_shared<Open>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (open->file < 0 || ::fstat(open->file, &open->state) != 0 || !S_ISREG(open->state.st_mode) ||
      !hash(open->file, context.get()))
    return unreadable(path);
  HashedFile hashed;
  hashed.path_ = path;
  hashed.digest_ = hex_of(context.get());
  hashed.open_ = open;
  // Of a file that changed meanwhile the digest says nothing.
  if (!hashed.unchanged())
    return Error{ErrorCode::retry, "The library " + path + " was changed while it was read; try again.", {}};
  return hashed;
}

bool HashedFile::unchanged() const {
  struct stat now {};
  return open_ && ::lstat(path_.c_str(), &now) == 0 && same(now, open_->state);
}

domain::Result<std::string> file_digest(const std::string& path) {
  const auto hashed = HashedFile::read(path);
  if (!hashed) return hashed.error();
  return hashed->digest();
}

}  // namespace agent::plugin
