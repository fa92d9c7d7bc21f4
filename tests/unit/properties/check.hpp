// Properties under GoogleTest. A failure prints the smallest case that was found and the configuration that
// replays it: RC_PARAMS="seed=… max_success=…" in the environment.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>
// After GoogleTest, which it takes for granted.
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace properties {

// Sums that cannot overflow.
__extension__ typedef __int128 Wide;

// The same values in an order that `seed` decides.
template <class T>
std::vector<T> shuffled(std::vector<T> values, std::uint64_t seed) {
  for (std::size_t left = values.size(); left > 1; --left) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    std::swap(values[left - 1], values[(seed >> 33U) % left]);
  }
  return values;
}

}  // namespace properties
