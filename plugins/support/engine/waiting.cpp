#include "support/engine/waiting.hpp"

#include "support/engine/identity.hpp"

namespace plugins::engine {

void Waiting::keep(const rmgr::Allocation& allocation, Attached attached) {
  const std::lock_guard lock(mutex_);
  of_attempt_.insert_or_assign(name_of(allocation), std::move(attached));
}

bool Waiting::has(const rmgr::Allocation& allocation) const {
  const std::lock_guard lock(mutex_);
  return of_attempt_.contains(name_of(allocation));
}

std::optional<Attached> Waiting::take(const rmgr::Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  auto found = of_attempt_.extract(name_of(allocation));
  if (found.empty()) return std::nullopt;
  std::optional<Attached> taken(std::move(found.mapped()));
  return taken;
}

}  // namespace plugins::engine
