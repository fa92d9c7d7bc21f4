// Where one-time secrets live between the registration and the start: in memory only, one for each attempt,
// each taken once. A crash loses them, by design.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "domain/ids.hpp"

namespace agent::lifecycle {

// Overwrites the bytes of a string and empties it.
void wipe(std::string& secret);

// Thread-safe.
class Vault {
 public:
  Vault() = default;
  Vault(const Vault&) = delete;
  Vault& operator=(const Vault&) = delete;
  ~Vault();

  // Moves the secret in and wipes the source. An earlier one of the attempt is wiped: its registration is
  // gone.
  void put(const domain::AttemptId& attempt, std::string& secret);
  // Moves the secret out; nothing if it was taken or dropped before. The caller wipes it.
  std::optional<std::string> take(const domain::AttemptId& attempt);
  void drop(const domain::AttemptId& attempt);

 private:
  std::mutex mutex_;
  std::map<domain::AttemptId, std::string> secrets_;
};

}  // namespace agent::lifecycle
