// What the simulator itself takes states to mean. Written down once more, because a mistake in the rules
// under test must not hide itself.
#pragma once

#include "domain/attempt.hpp"

namespace simulation {

inline bool lives(agent::domain::State state) {
  using S = agent::domain::State;
  return state == S::allocated || state == S::preparing || state == S::prepared || state == S::jit_received ||
         state == S::starting || state == S::idle || state == S::busy;
}

inline bool is_isolated(const agent::domain::Policy& policy) {
  return policy.provider_kind == agent::domain::ProviderKind::isolated;
}

// An isolated attempt costs the host until its sandbox is proven gone.
inline bool costs_host(const agent::domain::Attempt& attempt) {
  return is_isolated(attempt.policy) ? attempt.state != agent::domain::State::cleaned : lives(attempt.state);
}

}  // namespace simulation
