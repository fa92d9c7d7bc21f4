#include "server/app_auth.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <charconv>
#include <memory>
#include <stdexcept>

#include "server/render.hpp"
#include "wire/text.hpp"

namespace emulator {
namespace {

using nlohmann::json;

constexpr Millis kLongestProof = 600'000;

std::optional<std::string> base64url_decode(std::string_view text) {
  std::string plain(text);
  for (char& c : plain)
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  while (plain.size() % 4 != 0)
    plain.push_back('=');
  return base64_decode(plain);
}

json installation_body(std::int64_t id, const std::string& account, bool suspended, Millis now) {
  return {{"id", id},
          {"account", {{"login", account}, {"type", "Organization"}}},
          {"repository_selection", "all"},
          {"suspended_at", suspended ? json(iso_time(now)) : json(nullptr)}};
}

}  // namespace

std::string credential_of(const Request& request) {
  const std::string value = request.header("authorization");
  for (const std::string_view scheme : {"bearer ", "token "}) {
    if (value.size() > scheme.size() &&
        equal_fold(std::string_view(value).substr(0, scheme.size()), scheme)) {
      return value.substr(scheme.size());
    }
  }
  return {};
}

void AppAuth::change(const json& body) {
  if (body.contains("id")) id_ = std::to_string(body.at("id").get<std::int64_t>());
  client_id_ = body.value("client_id", client_id_);
  public_key_ = body.value("public_key", public_key_);
  revoked_ = body.value("revoked", revoked_);
  token_lifetime_ = body.value("token_lifetime_ms", token_lifetime_);
  for (const auto& item : body.value("installations", json::array())) {
    installations_[item.at("id").get<std::int64_t>()] = {item.at("account").get<std::string>(),
                                                         item.value("suspended", false)};
  }
  for (const char* verb : {"suspend", "resume", "uninstall"}) {
    if (!body.contains(verb)) continue;
    const auto found = installations_.find(body.at(verb).get<std::int64_t>());
    if (found == installations_.end()) throw std::runtime_error("there is no such installation");
    if (std::string_view(verb) == "uninstall") {
      installations_.erase(found);
    } else {
      found->second.suspended = std::string_view(verb) == "suspend";
    }
  }
  if (body.value("expire_tokens", false)) {
    for (auto& [text, token] : tokens_)
      token.expires_at = 0;
  }
}

bool AppAuth::serves(const Request& request) {
  const auto& parts = request.parts;
  if (!parts.empty() && parts[0] == "app") return true;
  const bool repository = parts.size() == 4 && parts[0] == "repos";
  const bool organization = parts.size() == 3 && parts[0] == "orgs";
  return (repository || organization) && parts.back() == "installation";
}

Response AppAuth::handle(const Request& request, Millis now) {
  if (auto refused = disbelieve(credential_of(request), now)) return *refused;
  const auto& parts = request.parts;
  const bool get = request.method == "GET";
  if (get && parts.back() == "installation") return installation_of(parts[1], now);
  if (get && parts.size() == 1)
    return json_response(200, dump({{"id", id_}, {"client_id", client_id_}, {"slug", "emulated"}}));
  if (parts.size() < 2 || parts[1] != "installations") return error_response(404, "Not Found");
  if (get && parts.size() == 2) {
    json list = json::array();
    for (const auto& [id, one] : installations_)
      list.push_back(installation_body(id, one.account, one.suspended, now));
    return json_response(200, dump(list));
  }
  if (request.method != "POST" || parts.size() != 4 || parts[3] != "access_tokens")
    return error_response(404, "Not Found");
  std::int64_t id = 0;
  std::from_chars(parts[2].data(), parts[2].data() + parts[2].size(), id);
  return grant(id, now);
}

// The words are those that GitHub uses.
std::optional<Response> AppAuth::disbelieve(std::string_view proof, Millis now) {
  const auto parts = split(proof, '.');
  const Response undecodable = error_response(401, "A JSON web token could not be decoded");
  if (parts.size() != 3 || revoked_ || public_key_.empty()) return undecodable;
  const auto head = base64url_decode(parts[0]);
  const auto body = base64url_decode(parts[1]);
  const auto signature = base64url_decode(parts[2]);
  if (!head || !body || !signature) return undecodable;
  const json header = json::parse(*head, nullptr, false);
  const json claims = json::parse(*body, nullptr, false);
  if (!header.is_object() || header.value("alg", "") != "RS256" || !claims.is_object()) return undecodable;
  if (!verifies(parts[0] + "." + parts[1], *signature)) return undecodable;
  const auto number = [&claims](const char* name) {
    return claims.contains(name) && claims[name].is_number_integer() ? claims[name].get<std::int64_t>() * 1000
                                                                     : std::int64_t{-1};
  };
  const Millis issued = number("iat");
  const Millis expires = number("exp");
  if (issued < 0 || issued > now) {
    return error_response(401,
                          "'Issued at' claim ('iat') must be an Integer representing the time that the "
                          "assertion was issued");
  }
  if (expires <= now) {
    return error_response(401,
                          "'Expiration time' claim ('exp') must be a numeric value representing the future "
                          "time at which the assertion expires");
  }
  if (expires > now + kLongestProof)
    return error_response(401, "'Expiration time' claim ('exp') is too far in the future");
  const std::string issuer =
      claims.contains("iss") && claims["iss"].is_string() ? claims["iss"].get<std::string>() : std::string();
  if (issuer.empty() || (issuer != id_ && issuer != client_id_))
    return error_response(404, "Integration not found");
  const std::string unique =
      claims.contains("jti") && claims["jti"].is_string() ? claims["jti"].get<std::string>() : std::string();
  if (unique.empty() || !seen_ids_.insert(unique).second)
    return error_response(401, "The JSON web token was used before");
  return std::nullopt;
}

bool AppAuth::verifies(std::string_view signed_part, std::string_view signature) const {
  const std::unique_ptr<BIO, decltype(&BIO_free)> input(
      BIO_new_mem_buf(public_key_.data(), static_cast<int>(public_key_.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PUBKEY(input.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  };
  return key != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(signed_part),
                          signed_part.size()) == 1;
}

Response AppAuth::installation_of(std::string_view account, Millis now) const {
  for (const auto& [id, one] : installations_) {
    if (equal_fold(one.account, account))
      return json_response(200, dump(installation_body(id, one.account, one.suspended, now)));
  }
  return error_response(404, "Not Found");
}

Response AppAuth::grant(std::int64_t id, Millis now) {
  const auto found = installations_.find(id);
  if (found == installations_.end()) return error_response(404, "Not Found");
  if (found->second.suspended) return error_response(403, "This installation has been suspended");
  const std::string text = "ghs_" + random_hex(18);
  tokens_[text] = {id, now + token_lifetime_};
  return json_response(201, dump({{"token", text},
                                  {"expires_at", iso_time(now + token_lifetime_)},
                                  {"permissions", {{"administration", "write"}, {"actions", "read"}}},
                                  {"repository_selection", "all"}}));
}

std::optional<Response> AppAuth::refusal(std::string_view token, const Request& request, Millis now) const {
  const Token& known = tokens_.find(token)->second;
  const auto found = installations_.find(known.installation);
  if (known.expires_at <= now || found == installations_.end()) return error_response(401, "Bad credentials");
  if (found->second.suspended) return error_response(403, "This installation has been suspended");
  const bool of_account =
      request.parts.size() > 1 && (request.parts[0] == "repos" || request.parts[0] == "orgs");
  if (of_account && !equal_fold(request.parts[1], found->second.account))
    return error_response(404, "Not Found");
  return std::nullopt;
}

}  // namespace emulator
