// Keys made for one test, as PEM text.
#pragma once

#include <string>
#include <string_view>

namespace testkit {

struct KeyPair {
  std::string pkcs1, pkcs8, encrypted, public_key;
};
KeyPair make_rsa_key(unsigned bits = 2048);
std::string make_ec_key();  // PKCS #8

// RS256 of `text` under the public key.
bool verifies(const std::string& public_key, std::string_view text, std::string_view signature);

}  // namespace testkit
