#include "plugin/text.hpp"

#include <gtest/gtest.h>

namespace {

using agent::plugin::is_utf8;
using agent::plugin::one_line;

TEST(Text, KnowsUtf8) {
  for (const char* good : {"", "a", "ä", "€", "😀", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(good)) << good;
  EXPECT_TRUE(is_utf8(std::string_view("\0", 1)));
  for (const char* bad : {"\x80", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe2\x82",
                          "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
    EXPECT_FALSE(is_utf8(bad));
}

TEST(Text, MakesOneLine) {
  EXPECT_EQ(one_line("a\nb\tc\x7f", 100), "a?b?c?");
  EXPECT_EQ(one_line("\xc2\x9b"
                     "31m",
                     100),
            "?31m");
  EXPECT_EQ(one_line("x\xffy", 100), "x?y");
  EXPECT_EQ(one_line("ää", 3), "ä");
  EXPECT_EQ(one_line("", 3), "");
}

}  // namespace
