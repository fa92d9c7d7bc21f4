#include "github/jwt.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <array>
#include <utility>
#include <vector>

#include "rmgr/error.hpp"

namespace plugins::github {
namespace {

constexpr std::int64_t kBackdated = 60;
constexpr std::int64_t kLifetime = 9 * 60;
constexpr int kLeastBits = 2048;

[[noreturn]] void refuse(const std::string& why) {
  ERR_clear_error();  // its strings may quote the input
  throw rmgr::Error(rmgr::Status::invalid, "The private key of the App " + why);
}

// Without this, an encrypted key would be asked for at a terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw rmgr::Error(rmgr::Status::internal, "No random bytes are to be had for the App's proof.");
  constexpr std::string_view hex = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    text += hex[byte >> 4U];
    text += hex[byte & 15U];
  }
  return text;
}

}  // namespace

std::string base64url(std::string_view bytes) {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6)
      text += alphabet[(bits >> static_cast<unsigned>(held - 6)) & 63U];
  }
  if (held > 0) text += alphabet[(bits << static_cast<unsigned>(6 - held)) & 63U];
  return text;
}

Claims claims_at(std::string issuer, std::int64_t server_seconds) {
  const auto issued = server_seconds - kBackdated;
  return {std::move(issuer), issued, issued + kLifetime, random_id()};
}

void SigningKey::Free::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

SigningKey::SigningKey(std::string_view pem) {
  if (pem.find("-----BEGIN ") == std::string_view::npos) refuse("is not in PEM form.");
  if (pem.find("PRIVATE KEY-----") == std::string_view::npos)
    refuse("is not there: the file holds something else, such as a public key or a certificate.");
  // Read-only: the text is not copied.
  const std::unique_ptr<BIO, decltype(&BIO_free)> input(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  if (input == nullptr) throw std::bad_alloc();
  bool encrypted = false;
  key_.reset(PEM_read_bio_PrivateKey(input.get(), nullptr, &no_passphrase, &encrypted));
  if (encrypted)
    refuse("is encrypted; store it without a passphrase, in a file that only this account can read.");
  if (key_ == nullptr) refuse("is damaged, or not a key that this program can read.");
  if (EVP_PKEY_is_a(key_.get(), "RSA") != 1) refuse("is not an RSA key.");
  if (EVP_PKEY_get_bits(key_.get()) < kLeastBits) refuse("is shorter than 2048 bits.");
  ERR_clear_error();
}

http::Secret SigningKey::sign(const Claims& claims) const {
  const std::string input = base64url(R"({"alg":"RS256","typ":"JWT"})") + "." +
                            base64url("{\"iat\":" + std::to_string(claims.issued_at) +
                                      ",\"exp\":" + std::to_string(claims.expires_at) + ",\"iss\":\"" +
                                      claims.issuer + "\",\"jti\":\"" + claims.id + "\"}");
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  if (context == nullptr) throw std::bad_alloc();
  std::size_t size = 0;
  std::vector<unsigned char> signature;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(input.data());
  bool fine = EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
              EVP_DigestSign(context.get(), nullptr, &size, bytes, input.size()) == 1;
  if (fine) {
    signature.resize(size);
    fine = EVP_DigestSign(context.get(), signature.data(), &size, bytes, input.size()) == 1;
  }
  if (!fine) refuse("cannot sign; it may be damaged.");
  std::string tail = base64url({reinterpret_cast<const char*>(signature.data()), size});
  http::Secret token{input, ".", tail};
  OPENSSL_cleanse(tail.data(), tail.size());
  OPENSSL_cleanse(signature.data(), signature.size());
  return token;
}

}  // namespace plugins::github
