#include "domain/credential.hpp"

#include <gtest/gtest.h>

namespace agent::domain {
namespace {

TEST(Credential, TheStateFollowsTheCodeAndTheWord) {
  struct Case {
    ErrorCode code;
    const char* message;
    CredentialState state;
  };
  const Case table[] = {
      {ErrorCode::unauthorized, "Credential rejected: x", CredentialState::rejected},
      {ErrorCode::unauthorized, "Credential expired: x", CredentialState::expired},
      {ErrorCode::unauthorized, "Credential unreadable: x", CredentialState::unreadable},
      {ErrorCode::unauthorized, "Credential unusable: x", CredentialState::unusable},
      {ErrorCode::unauthorized, "Credential not_installed: x", CredentialState::not_installed},
      {ErrorCode::denied, "Credential suspended: x", CredentialState::suspended},
      {ErrorCode::unauthorized, "Credential insufficient: x", CredentialState::insufficient},
      {ErrorCode::unauthorized, "Credential ready: x", CredentialState::rejected},
      {ErrorCode::unauthorized, "Credential unknown: x", CredentialState::rejected},
      {ErrorCode::unauthorized, "Credential ", CredentialState::rejected},
      {ErrorCode::unauthorized, "credential expired: x", CredentialState::rejected},
      {ErrorCode::unauthorized, "", CredentialState::rejected},
      {ErrorCode::denied, "no right", CredentialState::insufficient},
      {ErrorCode::unreachable, "Credential rejected: x", CredentialState::unknown},
      {ErrorCode::retry, "", CredentialState::unknown},
  };
  for (const auto& row : table)
    EXPECT_EQ(credential_state_of(row.code, row.message), row.state) << row.message;
}

}  // namespace
}  // namespace agent::domain
