// Signed tokens by which an App proves who it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "support/http/secret.hpp"

struct evp_pkey_st;

namespace plugins::github {

struct Claims {
  std::string issuer;  // client id or App id; printable ASCII without quotes and backslashes
  std::int64_t issued_at = 0, expires_at = 0;  // seconds since 1970
  std::string id;                              // unique
};
// Issued a minute ago, so that a server whose clock is a little behind takes it, and short-lived.
Claims claims_at(std::string issuer, std::int64_t server_seconds);

// An RSA key. Its parts are wiped when it ends. Not thread-safe.
class SigningKey {
 public:
  // From PEM text, PKCS #1 or PKCS #8. Throws rmgr::Error `invalid` with a reason that holds nothing of the
  // text.
  explicit SigningKey(std::string_view pem);
  // RS256, in the compact form.
  [[nodiscard]] http::Secret sign(const Claims& claims) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };
  std::unique_ptr<evp_pkey_st, Free> key_;
};

std::string base64url(std::string_view bytes);

}  // namespace plugins::github
