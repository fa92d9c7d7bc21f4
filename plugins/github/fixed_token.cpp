#include "github/fixed_token.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace plugins::github {

Loan FixedToken::get(const rmgr::Call& /*call*/, std::string_view /*target*/) {
  Loan loan;
  // A secret that cannot be read says nothing about the target, so its own status would mislead.
  try {
    wire_.host().secrets().with_secret(wire_.settings().token, [&loan](rmgr::SecretView value) {
      loan.token = http::Secret(value.reveal());
    });
  } catch (const rmgr::Error& error) {
    throw credential_error(CredentialState::unreadable, CredentialKind::token, error.what());
  }
  const auto text = loan.token.view();
  if (std::any_of(text.begin(), text.end(), [](char c) { return c <= 0x20 || c >= 0x7f; })) {
    throw credential_error(
        CredentialState::unusable, CredentialKind::token,
        "The value of " + wire_.settings().token + " has white space or characters that no token has.");
  }
  loan.fingerprint = std::hash<std::string_view>{}(text);
  wire_.paces().expect_free(loan.line, loan.fingerprint);
  return loan;
}

void FixedToken::accepted(const Loan& loan, const http::Response& response) {
  wire_.paces().accepted(loan.line, loan.fingerprint);
  const auto end = parse_instant(response.header("github-authentication-token-expiration").value_or(""));
  const std::lock_guard lock(mutex_);
  of_ = loan.fingerprint;
  expires_at_ = end;
}

CredentialState FixedToken::verdict(const Loan& loan) {
  const std::lock_guard lock(mutex_);
  const bool over =
      of_ == loan.fingerprint && expires_at_ && *expires_at_ <= wire_.clock().now().count() / 1000;
  return over ? CredentialState::expired : CredentialState::rejected;
}

}  // namespace plugins::github
