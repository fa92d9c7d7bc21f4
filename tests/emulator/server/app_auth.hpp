// One GitHub App: it proves itself by signed tokens, and gets tokens for the accounts that installed it.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "server/exchange.hpp"
#include "server/world.hpp"

namespace emulator {

class AppAuth {
 public:
  // What a test sets; README.md lists the fields. Throws std::exception for fields of the wrong type.
  void change(const nlohmann::json& body);

  // Whether the call is one that only an App itself may make.
  [[nodiscard]] static bool serves(const Request& request);
  Response handle(const Request& request, Millis now);

  // Whether an installation got that token once.
  [[nodiscard]] bool issued(std::string_view token) const { return tokens_.contains(token); }
  // Why a request with a token of an installation is refused, or nothing.
  [[nodiscard]] std::optional<Response> refusal(std::string_view token, const Request& request,
                                                Millis now) const;

 private:
  struct Installation {
    std::string account;
    bool suspended = false;
  };
  struct Token {
    std::int64_t installation = 0;
    Millis expires_at = 0;
  };
  std::optional<Response> disbelieve(std::string_view proof, Millis now);
  [[nodiscard]] bool verifies(std::string_view signed_part, std::string_view signature) const;
  Response installation_of(std::string_view account, Millis now) const;
  Response grant(std::int64_t id, Millis now);

  std::string id_, client_id_, public_key_;
  bool revoked_ = false;
  Millis token_lifetime_ = 3'600'000;
  std::map<std::int64_t, Installation> installations_;
  std::map<std::string, Token, std::less<>> tokens_;
  std::set<std::string> seen_ids_;
};

// The credential of a request, without its scheme; empty if there is none.
std::string credential_of(const Request& request);

}  // namespace emulator
