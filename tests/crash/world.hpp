// One emulated GitHub and one daemon that is killed at a point, started again, and looked at.
#pragma once

#include <string>
#include <vector>

namespace crash {

// What a daemon goes through; each story reaches other points.
inline const std::vector<std::string>& stories() {
  static const std::vector<std::string> all = {"jobs", "hooks", "slots", "restart", "surplus", "overtime"};
  return all;
}

struct Order {
  std::string story;
  std::string point;  // empty: nothing is killed
  long nth = 1;
  std::string trace;   // a file that gets the name of each point as it is reached; empty: none
  std::string bin;     // where the programs are
  std::string daemon;  // another directory for runner-manager itself; empty: `bin`
};

struct Verdict {
  bool killed = false;                  // the point was reached
  std::vector<std::string> violations;  // of the invariants
};

Verdict play(const Order& order);

}  // namespace crash
