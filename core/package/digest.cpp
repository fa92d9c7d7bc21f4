#include "package/digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace agent::package {

namespace {
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
void require(int answer) {
  if (answer != 1) throw std::runtime_error("SHA-256 is not available in this OpenSSL");
}
}  // namespace

bool is_digest(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, FreeContext> context{EVP_MD_CTX_new()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) { reset(); }
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::reset() { require(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr)); }

void Sha256::update(const char* bytes, std::size_t size) {
  require(EVP_DigestUpdate(state_->context.get(), bytes, size));
}

std::string Sha256::finish() {
  std::array<unsigned char, 32> raw{};
  require(EVP_DigestFinal_ex(state_->context.get(), raw.data(), nullptr));
  reset();
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  text.reserve(64);
  for (const auto byte : raw) {
    text += kHex[byte >> 4U];
    text += kHex[byte & 15U];
  }
  return text;
}

}  // namespace agent::package
