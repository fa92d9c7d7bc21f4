#include "domain/credential.hpp"

#include <array>

namespace agent::domain {
namespace {

constexpr std::array kAll{
    CredentialState::unknown,       CredentialState::ready,      CredentialState::rejected,
    CredentialState::expired,       CredentialState::unreadable, CredentialState::unusable,
    CredentialState::not_installed, CredentialState::suspended,  CredentialState::insufficient};
constexpr std::string_view kPrefix = "Credential ";

}  // namespace

std::string_view to_string(CredentialState state) {
  switch (state) {
    case CredentialState::unknown: return "unknown";
    case CredentialState::ready: return "ready";
    case CredentialState::rejected: return "rejected";
    case CredentialState::expired: return "expired";
    case CredentialState::unreadable: return "unreadable";
    case CredentialState::unusable: return "unusable";
    case CredentialState::not_installed: return "not_installed";
    case CredentialState::suspended: return "suspended";
    case CredentialState::insufficient: return "insufficient";
  }
  return "unknown";
}

CredentialState credential_state_of(ErrorCode code, std::string_view message) {
  if (code != ErrorCode::unauthorized && code != ErrorCode::denied) return CredentialState::unknown;
  if (message.starts_with(kPrefix)) {
    const auto rest = message.substr(kPrefix.size());
    const auto word = rest.substr(0, rest.find(':'));
    for (const CredentialState state : kAll) {
      const bool trouble = state != CredentialState::unknown && state != CredentialState::ready;
      if (trouble && word == to_string(state)) return state;
    }
  }
  return code == ErrorCode::denied ? CredentialState::insufficient : CredentialState::rejected;
}

}  // namespace agent::domain
