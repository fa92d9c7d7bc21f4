#include "process/records.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "process/stat_line.hpp"
#include "unit/process/fixture.hpp"

namespace agent::process {
namespace {

using domain::ErrorCode;

TEST(StatLine, CountsFieldsFromTheLastParenthesis) {
  const std::string tail = " S 41 42 43 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2 3\n";
  for (const char* name : {"sh", "a b", "a) R 1 2 3", "((", "))", ""}) {
    StatLine line;
    ASSERT_TRUE(parse_stat("7 (" + std::string(name) + ")" + tail, line)) << name;
    EXPECT_EQ(line.state, 'S');
    EXPECT_EQ(line.parent, 41);
    EXPECT_EQ(line.group, 42);
    EXPECT_EQ(line.session, 43);
    EXPECT_EQ(line.start, 98765U);
  }
}

TEST(StatLine, RefusesWhatIsNotAWholeLine) {
  StatLine line;
  for (const char* text : {"", "7 (sh", "7 (sh)", "7 (sh) S", "7 (sh) S 1 2 3 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0",
                           "7 (sh) S x 2 3 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 9"}) {
    EXPECT_FALSE(parse_stat(text, line)) << text;
  }
}

TEST(Records, ExitRecordsAreParsedExactly) {
  auto good = parse_exit_record("rmgr-exit 1\ncode 7\nsignal 0\noom 1\nran_ms 5\nended_ms 6\n\n\n");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->code, 7);
  EXPECT_EQ(good->signal, 0);
  EXPECT_TRUE(good->out_of_memory);
  for (const char* text :
       {"", "\n\n\n", "rmgr-exit 2\ncode 7\nsignal 0\noom 0\n", "rmgr-exit 1\ncode 7\nsignal 0\n",
        "rmgr-exit 1\ncode 7x\nsignal 0\noom 0\n", "rmgr-exit 1\ncode 256\nsignal 0\noom 0\n",
        "rmgr-exit 1\ncode -1\nsignal 0\noom 0\n", "rmgr-exit 1\ncode 0\nsignal 65\noom 0\n"}) {
    auto bad = parse_exit_record(text);
    ASSERT_FALSE(bad.ok()) << text;
    EXPECT_EQ(bad.error().code, ErrorCode::corrupt);
  }
}

TEST(Records, ChildRecordsNameProcessAccountAndBoot) {
  auto good = parse_child_record("rmgr-child 1\npid 12\nstart 34\nuid 1001\nboot b-1\n");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->identity, (ProcessIdentity{12, 34, domain::BootId("b-1")}));
  EXPECT_EQ(good->uid, 1001);
  for (const char* text :
       {"", "rmgr-child 1\npid 12\nstart 34\nuid 1001\n", "rmgr-child 1\npid 12\nstart 34\nuid 1\nboot \n"})
    EXPECT_FALSE(parse_child_record(text).ok()) << text;
}

TEST(Records, KeysAreSafeNames) {
  for (const char* key : {"a", "0b0e8d6e-3c1f-4a57-9f5e-2f1d5a6b7c8d", "A_b.c"})
    EXPECT_TRUE(check_key(key).ok()) << key;
  for (const std::string& key :
       {std::string(), std::string("."), std::string(".."), std::string("a/b"), std::string("a b"),
        std::string("a\n"), std::string("a\0b", 3), std::string(129, 'a')})
    EXPECT_FALSE(check_key(key).ok()) << key;
}

TEST(Records, RefusesADirectoryThatOthersCanEnter) {
  const testing::Directory directory;
  const std::string path = directory.path() + "/records";
  ASSERT_TRUE(Records::open(path).ok());
  ASSERT_EQ(::chmod(path.c_str(), 0710), 0);
  auto opened = Records::open(path);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::denied);
  EXPECT_FALSE(Records::open("relative").ok());
  EXPECT_FALSE(Records::open(directory.path() + "/a/b").ok());
}

}  // namespace
}  // namespace agent::process
