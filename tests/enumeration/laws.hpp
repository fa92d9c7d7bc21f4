// What every step of the machine keeps, whatever it was told.
#pragma once

#include <vector>

#include "enumeration/rulebook.hpp"

namespace enumeration {

struct Change {
  const Attempt& was;
  const lifecycle::Step& step;

  const Attempt& is() const { return step.attempt; }
  bool native() const { return was.policy.provider_kind == ProviderKind::native; }
  bool concluded_now() const { return !ended(was.state) && ended(is().state); }
  bool orders(EffectKind kind) const { return !step.orders.empty() && step.orders.front().kind == kind; }
  bool removes() const { return orders(EffectKind::destroy) || orders(EffectKind::scrub); }
};

struct Law {
  const char* name;
  bool (*holds)(const Change&);
};

const std::vector<Law>& laws();
bool launch_effect(EffectKind kind);

}  // namespace enumeration
