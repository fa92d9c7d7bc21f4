// In which state the credential of a target is, in words for status.
#pragma once

#include <string_view>

#include "domain/result.hpp"

namespace agent::domain {

enum class CredentialState {
  unknown,        // nothing was asked yet
  ready,          // the last answer took it
  rejected,       // wrong or revoked
  expired,        // its time is over
  unreadable,     // the reference cannot be read
  unusable,       // what was read is no such secret
  not_installed,  // an App that the owner did not install
  suspended,      // an App whose installation is suspended
  insufficient,   // accepted, but a right is missing
};

std::string_view to_string(CredentialState state);

// What a failure of a gateway says about its credential: a message that begins with "Credential WORD: " names
// the state, else the code decides. unknown: nothing.
CredentialState credential_state_of(ErrorCode code, std::string_view message);

}  // namespace agent::domain
