// Containers that were started ahead of their job and wait for their secret.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "rmgr/execution_provider.hpp"
#include "support/engine/client.hpp"

namespace plugins::engine {

// Holds the other end of each container's standard input. With it goes the container: it reads an end of its
// input and leaves, also when this process dies. Thread-safe; by the identity of the allocation.
class Waiting {
 public:
  void keep(const rmgr::Allocation& allocation, Attached attached);
  [[nodiscard]] bool has(const rmgr::Allocation& allocation) const;
  // Takes it out, to be used or to be let go.
  std::optional<Attached> take(const rmgr::Allocation& allocation);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Attached> of_attempt_;
};

}  // namespace plugins::engine
