#include "package/names.hpp"

#include <gtest/gtest.h>

namespace {

using agent::package::entry_path;
using agent::package::links_stay_inside;
using agent::package::UnpackLimits;
using agent::package::Violation;

TEST(EntryNames, AreMadeRelative) {
  const std::vector<std::pair<std::string, std::string>> table{
      {"./", ""},       {".", ""},      {"a", "a"},     {"./a/b", "a/b"},       {"a//b/", "a/b"},
      {"a/./b", "a/b"}, {"...", "..."}, {"..a", "..a"}, {"a/_work", "a/_work"}, {"_works", "_works"},
      {"a\\b", "a\\b"}};
  for (const auto& [name, path] : table) {
    const auto answer = entry_path(name, {});
    ASSERT_TRUE(std::holds_alternative<std::string>(answer)) << name;
    EXPECT_EQ(std::get<std::string>(answer), path) << name;
  }
}

TEST(EntryNames, AreRefused) {
  std::string deep;
  for (int i = 0; i < 65; ++i)
    deep += "d/";
  std::string path;
  for (int i = 0; i < 20; ++i)
    path += std::string(60, 'p') + "/";
  const std::vector<std::pair<std::string, Violation>> table{
      {"", Violation::unusable_name},
      {std::string("a\0b", 3), Violation::unusable_name},
      {"/etc/passwd", Violation::absolute_name},
      {"//a", Violation::absolute_name},
      {"..", Violation::escaping_name},
      {"../a", Violation::escaping_name},
      {"a/../b", Violation::escaping_name},
      {"a/..", Violation::escaping_name},
      {"_work", Violation::workspace_name},
      {"./_work/x", Violation::workspace_name},
      {"_WORK", Violation::workspace_name},
      {"_Work/", Violation::workspace_name},
      {std::string(256, 'n'), Violation::name_too_long},
      {path, Violation::name_too_long},
      {deep, Violation::too_deep}};
  for (const auto& [name, violation] : table) {
    const auto answer = entry_path(name, {});
    ASSERT_TRUE(std::holds_alternative<Violation>(answer)) << name;
    EXPECT_EQ(to_string(std::get<Violation>(answer)), to_string(violation)) << name;
  }
}

TEST(Links, InsideTheTree) {
  EXPECT_TRUE(links_stay_inside({}));
  EXPECT_TRUE(links_stay_inside({{"a", "b"}}));
  EXPECT_TRUE(links_stay_inside({{"a/b/c", "../../d"}}));
  EXPECT_TRUE(links_stay_inside({{"a/b", ".."}}));
  EXPECT_TRUE(links_stay_inside({{"a", "missing/../b"}}));
  EXPECT_TRUE(links_stay_inside({{"a", "b"}, {"b", "c/d"}, {"c/d", "../e"}}));
}

TEST(Links, OutOfTheTree) {
  EXPECT_FALSE(links_stay_inside({{"a", "/etc/passwd"}}));
  EXPECT_FALSE(links_stay_inside({{"a", ".."}}));
  EXPECT_FALSE(links_stay_inside({{"a/b", "../../c"}}));
  EXPECT_FALSE(links_stay_inside({{"a", "b/../../c"}}));
  EXPECT_FALSE(links_stay_inside({{"a", "./.././b"}}));
  // Each looks harmless alone: "d/e/up" is the top itself, so ".." behind it is outside.
  EXPECT_FALSE(links_stay_inside({{"d/e/up", "../.."}, {"b", "d/e/up/../x"}}));
  EXPECT_FALSE(links_stay_inside({{"a", "b"}, {"b", "a"}}));
}

}  // namespace
