// The rules of supervision once more, as a list of rows that say when they apply and what follows. Written
// from the rules, not from the code that is tested with it: it shares no predicate with it.
#pragma once

#include <optional>
#include <vector>

#include "enumeration/rows.hpp"

namespace enumeration {

struct Ruling {
  int matches = 0;  // how many rows of the first level that has one apply: exactly one is right
  std::optional<Decision> decision;
  const char* rule = "";
};

Ruling rule(const Attempt& attempt, const Observation& seen, std::int64_t ms);

// The shortest legal way from one state to another, the ends excluded and the goal included.
std::vector<State> way(ProviderKind kind, State from, State goal);
// True if `to` can be reached from `from` over legal edges, or is the same.
bool reachable(ProviderKind kind, State from, State to);

bool ended(State state);  // finished, failed, orphaned and what follows
bool soft(TerminationKind kind);

}  // namespace enumeration
