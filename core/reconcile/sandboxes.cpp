// Sandboxes of which it is not certain whose they are. They are shown, and nothing is done to them.
#include <algorithm>

#include "reconcile/engine.hpp"

namespace agent::reconcile {

void Engine::on_sandboxes(const domain::InstanceName& provider, const std::vector<ListedSandbox>& found) {
  std::vector<StraySandbox>& strays = stray_sandboxes_[provider];
  const std::vector<StraySandbox> before = std::move(strays);
  strays.clear();
  for (const ListedSandbox& sandbox : found) {
    const auto live = live_.find(domain::AttemptId(sandbox.attempt));
    if (live != live_.end() && live->second.attempt.generation.str() == sandbox.generation) continue;
    const bool again = std::any_of(before.begin(), before.end(), [&sandbox](const StraySandbox& one) {
      return one.sandbox.environment == sandbox.environment;
    });
    strays.push_back({sandbox, again});
  }
}

std::vector<SandboxView> Engine::quarantined_sandboxes() const {
  std::vector<SandboxView> views;
  for (const auto& [id, live] : live_) {
    if (!live.quarantined) continue;
    const auto& environment = live.attempt.environment;
    views.push_back({.provider = live.attempt.policy.provider.str(),
                     .environment = environment ? environment->str() : std::string(),
                     .attempt = id.str()});
  }
  for (const auto& [provider, strays] : stray_sandboxes_) {
    for (const StraySandbox& stray : strays) {
      if (!stray.again) continue;
      views.push_back({.provider = provider.str(),
                       .environment = stray.sandbox.environment,
                       .attempt = stray.sandbox.attempt});
    }
  }
  return views;
}

}  // namespace agent::reconcile
