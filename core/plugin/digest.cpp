#include <openssl/evp.h>

#include <array>
#include <fstream>
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

}  // namespace

domain::Result<std::string> file_digest(const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  if (!context || EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) != 1)
    return Error{ErrorCode::internal, "SHA-256 is not available in this build of OpenSSL.", {}};
  std::ifstream in(path, std::ios::binary);
  if (!in) return unreadable(path);
  std::vector<char> buffer(std::size_t{64} * 1024);
  std::size_t total = 0;
  while (in) {
    in.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto got = static_cast<std::size_t>(in.gcount());
    total += got;
    if (total > most_bytes) return unreadable(path);
    EVP_DigestUpdate(context.get(), buffer.data(), got);
  }
  if (in.bad()) return unreadable(path);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(context.get(), bytes.data(), &size);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[bytes[i] >> 4U];
    hex += digits[bytes[i] & 15U];
  }
  return hex;
}

}  // namespace agent::plugin
