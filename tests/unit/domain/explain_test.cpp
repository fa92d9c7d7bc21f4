#include "domain/explain.hpp"

#include <gtest/gtest.h>

#include <set>

namespace agent::domain {
namespace {

TEST(Explain, EveryFactorAndRefusalHasItsOwnSentence) {
  std::set<std::string_view> meanings;
  std::size_t count = 0;
  for (int value = 0; value <= static_cast<int>(LimitingFactor::policy_minimum); ++value, ++count) {
    const Words words = explain(static_cast<LimitingFactor>(value));
    EXPECT_TRUE(words.meaning.ends_with('.')) << words.meaning;
    meanings.insert(words.meaning);
  }
  for (int value = 0; value <= static_cast<int>(JobRefusal::ambiguous_policy); ++value, ++count) {
    const Words words = explain(static_cast<JobRefusal>(value));
    EXPECT_TRUE(words.meaning.ends_with('.')) << words.meaning;
    EXPECT_FALSE(words.remedy.empty()) << words.meaning;
    meanings.insert(words.meaning);
  }
  EXPECT_EQ(meanings.size(), count);
}

TEST(Explain, WhatKeepsAPolicyBackHasARemedy) {
  for (int value = 0; value <= static_cast<int>(LimitingFactor::policy_minimum); ++value) {
    const auto factor = static_cast<LimitingFactor>(value);
    const bool well = factor == LimitingFactor::none || factor == LimitingFactor::demand ||
                      factor == LimitingFactor::policy_minimum;
    EXPECT_EQ(explain(factor).remedy.empty(), well) << to_string(factor);
  }
}

}  // namespace
}  // namespace agent::domain
