#include "github/credential.hpp"

#include <optional>

namespace plugins::github {

std::string_view to_string(CredentialState state) {
  switch (state) {
    case CredentialState::rejected: return "rejected";
    case CredentialState::expired: return "expired";
    case CredentialState::unreadable: return "unreadable";
    case CredentialState::unusable: return "unusable";
    case CredentialState::not_installed: return "not_installed";
    case CredentialState::suspended: return "suspended";
  }
  return "rejected";
}

std::string_view remedy(CredentialState state, CredentialKind kind) {
  const bool app = kind == CredentialKind::app;
  switch (state) {
    case CredentialState::rejected:
      return app ? "Check the id of the App, and that the private key is one of its current keys; make a new "
                   "key if it was revoked."
                 : "Check that the token is neither expired nor revoked, and replace it.";
    case CredentialState::expired: return "Make a new token and put it where the reference points to.";
    case CredentialState::unreadable:
      return app ? "Make the private key readable for this account alone."
                 : "Make the token readable for this account alone.";
    case CredentialState::unusable:
      return app ? "Give the PEM file that GitHub offered when the key was made."
                 : "Give the token alone, in one line.";
    case CredentialState::not_installed:
      return "Install the App for this owner, and give it this repository, or correct the target or "
             "installation_id.";
    case CredentialState::suspended: return "Ask the owner to resume the App's installation.";
  }
  return "";
}

rmgr::Error credential_error(CredentialState state, CredentialKind kind, const std::string& detail,
                             Millis retry_after) {
  return {
      rmgr::Status::unauthorized,
      "Credential " + std::string(to_string(state)) + ": " + detail + " " + std::string(remedy(state, kind)),
      retry_after};
}

void Paces::expect_free(const std::string& line, std::size_t fingerprint) {
  std::optional<Pace::Wait> wait;
  {
    const std::lock_guard lock(mutex_);
    wait = lines_[line].wait(host_.clock().boot(), fingerprint);
  }
  if (!wait) return;
  if (wait->rejected)
    throw credential_error(*wait->rejected, kind_, "GitHub is not asked for now.", wait->left);
  throw rmgr::Error(rmgr::Status::retry,
                    "GitHub is not asked until the rate limit of this credential is over.", wait->left);
}

void Paces::limited(const std::string& line, Millis duration) {
  const std::lock_guard lock(mutex_);
  lines_[line].limited(host_.clock().boot(), duration);
}

Millis Paces::rejected(const std::string& line, std::size_t fingerprint, CredentialState state) {
  const auto now = host_.clock().boot();
  const std::lock_guard lock(mutex_);
  auto& pace = lines_[line];
  pace.rejected(now, fingerprint, state);
  const auto wait = pace.wait(now, fingerprint);
  return wait ? wait->left : Millis{0};
}

void Paces::accepted(const std::string& line, std::size_t fingerprint) {
  const std::lock_guard lock(mutex_);
  lines_[line].accepted(fingerprint);
}

}  // namespace plugins::github
