#include "lifecycle/vault.hpp"

#include <cstring>

namespace agent::lifecycle {

void wipe(std::string& secret) {
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

Vault::~Vault() {
  for (auto& [attempt, secret] : secrets_)
    wipe(secret);
}

void Vault::put(const domain::AttemptId& attempt, std::string& secret) {
  const std::scoped_lock lock(mutex_);
  std::string& kept = secrets_[attempt];
  wipe(kept);
  kept = secret;
  wipe(secret);
}

std::optional<std::string> Vault::take(const domain::AttemptId& attempt) {
  const std::scoped_lock lock(mutex_);
  const auto found = secrets_.find(attempt);
  if (found == secrets_.end()) return std::nullopt;
  std::optional<std::string> secret(found->second);
  wipe(found->second);
  secrets_.erase(found);
  return secret;
}

void Vault::drop(const domain::AttemptId& attempt) {
  if (auto secret = take(attempt)) wipe(*secret);
}

}  // namespace agent::lifecycle
