#include <gtest/gtest.h>

#include <set>

#include "observe/log.hpp"
#include "unit/observe/vocabulary.hpp"

namespace agent::observe {
namespace {

TEST(Vocabulary, EveryEventHasItsOwnWord) {
  std::set<std::string_view> words;
  for (const Event event : testing::events()) {
    EXPECT_FALSE(to_string(event).empty());
    EXPECT_TRUE(words.insert(to_string(event)).second) << to_string(event);
    EXPECT_EQ(scrub(to_string(event)), to_string(event));
  }
  EXPECT_EQ(words.size(), 34U);
}

TEST(Vocabulary, EveryFieldHasItsOwnWord) {
  std::set<std::string_view> words;
  for (const Field field : testing::fields()) {
    EXPECT_FALSE(to_string(field).empty());
    EXPECT_TRUE(words.insert(to_string(field)).second) << to_string(field);
  }
  EXPECT_EQ(words.size(), 32U);
}

TEST(Vocabulary, LevelsAreReadBack) {
  for (const Level level : {Level::debug, Level::info, Level::warning, Level::error}) {
    EXPECT_EQ(parse_level(to_string(level)), level);
  }
  EXPECT_FALSE(parse_level("warn"));
  EXPECT_FALSE(parse_level(""));
}

}  // namespace
}  // namespace agent::observe
