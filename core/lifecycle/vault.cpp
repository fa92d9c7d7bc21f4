#include "lifecycle/vault.hpp"

#include <cstring>
#include <utility>

namespace agent::lifecycle {

namespace {

void wipe(std::string& bytes) {
  explicit_bzero(bytes.data(), bytes.size());
  bytes.clear();
}

}  // namespace

OneTimeSecret seal(std::string& source) {
  // A copy, because moving a short string leaves its bytes in the source.
  OneTimeSecret sealed(new std::string(source), [](const std::string* bytes) {
    auto* mine = const_cast<std::string*>(bytes);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    wipe(*mine);
    delete mine;
  });
  wipe(source);
  return sealed;
}

void Vault::put(const domain::AttemptId& attempt, OneTimeSecret secret) {
  const std::scoped_lock lock(mutex_);
  secrets_[attempt] = std::move(secret);
}

OneTimeSecret Vault::take(const domain::AttemptId& attempt) {
  const std::scoped_lock lock(mutex_);
  const auto node = secrets_.extract(attempt);
  return node ? node.mapped() : nullptr;
}

}  // namespace agent::lifecycle
