// Where one-time secrets live between the registration and the start: in memory only, one for each attempt,
// each taken once. A crash loses them, by design.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "domain/ids.hpp"

namespace agent::lifecycle {

// The last owner wipes it, so an answer that nobody takes leaves nothing behind.
using OneTimeSecret = std::shared_ptr<const std::string>;

// Takes the bytes over and wipes what `source` still holds of them.
OneTimeSecret seal(std::string& source);

// Thread-safe.
class Vault {
 public:
  // An earlier secret of the attempt is let go: its registration is gone.
  void put(const domain::AttemptId& attempt, OneTimeSecret secret);
  // Null if it was taken or dropped before.
  OneTimeSecret take(const domain::AttemptId& attempt);
  void drop(const domain::AttemptId& attempt) { (void)take(attempt); }

 private:
  std::mutex mutex_;
  std::map<domain::AttemptId, OneTimeSecret> secrets_;
};

}  // namespace agent::lifecycle
