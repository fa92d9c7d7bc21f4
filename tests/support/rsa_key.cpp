#include "support/rsa_key.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <functional>
#include <memory>

namespace testkit {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

std::string text_of(const std::function<int(BIO*)>& write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> output(BIO_new(BIO_s_mem()), &BIO_free);
  if (write(output.get()) != 1) return {};
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(output.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string pkcs8_of(EVP_PKEY* key) {
  return text_of([key](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace

KeyPair make_rsa_key(unsigned bits) {
  const Key key(EVP_RSA_gen(bits), &EVP_PKEY_free);
  KeyPair pair;
  pair.pkcs8 = pkcs8_of(key.get());
  pair.pkcs1 = text_of([&](BIO* out) {
    return PEM_write_bio_PrivateKey_traditional(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  char word[] = "passphrase";
  pair.encrypted = text_of([&](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, key.get(), EVP_aes_128_cbc(), word, sizeof word - 1, nullptr,
                                         nullptr);
  });
  pair.public_key = text_of([&](BIO* out) { return PEM_write_bio_PUBKEY(out, key.get()); });
  return pair;
}

std::string make_ec_key() {
  const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  return pkcs8_of(key.get());
}

bool verifies(const std::string& public_key, std::string_view text, std::string_view signature) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> input(
      BIO_new_mem_buf(public_key.data(), static_cast<int>(public_key.size())), &BIO_free);
  const Key key(PEM_read_bio_PUBKEY(input.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto bytes = [](std::string_view from) {
    return reinterpret_cast<const unsigned char*>(from.data());
  };
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text), text.size()) == 1;
}

}  // namespace testkit
