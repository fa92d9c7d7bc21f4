#include "package/archive.hpp"

#include <sys/resource.h>

#include "package/child.hpp"
#include "package/tree.hpp"
#include "unit/package/scratch.hpp"

namespace {

using agent::package::Fd;
using agent::package::Unpacked;
using agent::package::UnpackLimits;
using agent::package::Violation;
using scratch::folder;
using scratch::hard_link_to;
using scratch::link_to;
using scratch::make_archive;
using scratch::Member;
using namespace agent::domain;

const std::string kUnpacker = std::string(RMGR_BIN_DIR) + "/rmgr-unpack";

// Every rule holds in this process and in the child.
class Unpacking : public scratch::Directory, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Directory::SetUp();
    if (GetParam()) {
      ASSERT_TRUE(exists(kUnpacker)) << "build rmgr-unpack first";
    }
    tree_ = directory("tree");
    file("sentinel", "untouched");
  }
  Result<Unpacked> unpack(const std::string& bytes, const UnpackLimits& limits = {}) {
    const auto path = file("archive", bytes);
    if (GetParam()) {
      return agent::package::unpack_in_child(kUnpacker, path, tree_, limits, Millis{60'000}, {});
    }
    const Fd archive(::open(path.c_str(), O_RDONLY));
    const Fd target(::open(tree_.c_str(), O_RDONLY | O_DIRECTORY));
    return agent::package::unpack(archive.get(), target.get(), limits, {});
  }
  void expect_unsafe(const std::vector<Member>& members, Violation violation,
                     const UnpackLimits& limits = {}) {
    expect_unsafe_bytes(make_archive(members), violation, limits);
  }
  void expect_unsafe_bytes(const std::string& bytes, Violation violation, const UnpackLimits& limits = {}) {
    const auto unpacked = unpack(bytes, limits);
    ASSERT_FALSE(unpacked.ok()) << to_string(violation);
    EXPECT_EQ(unpacked.error().code, ErrorCode::invalid) << unpacked.error().message;
    EXPECT_TRUE(unpacked.error().message.ends_with(to_string(violation))) << unpacked.error().message;
    EXPECT_EQ(unpacked.error().message.find("chosen"), std::string::npos);
    EXPECT_EQ(content(at("sentinel")), "untouched");
    const auto parent = agent::package::open_directory(home_);
    ASSERT_TRUE(agent::package::remove_entry(parent->get(), "tree").ok());
    directory("tree");
  }
  std::string tree_;
};

TEST_P(Unpacking, OfARunnerPackage) {
  for (const bool zip : {false, true}) {
    const auto unpacked = unpack(make_archive(scratch::runner_members(), zip));
    ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
    EXPECT_EQ(content(tree_ + "/bin/Runner.Listener"), "listener 1.0.0");
    EXPECT_EQ(mode_of(tree_ + "/bin/Runner.Listener"), 0755U);
    EXPECT_EQ(mode_of(tree_ + "/externals"), 0700U);
    EXPECT_EQ(mode_of(tree_ + "/empty"), 0600U);
    EXPECT_EQ(std::filesystem::read_symlink(tree_ + "/externals/node20/npm"), "node");
    struct stat info {};
    ASSERT_EQ(::lstat((tree_ + "/run.sh").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, ::geteuid());
    EXPECT_EQ(info.st_gid, ::getegid());
    ASSERT_EQ(::lstat((tree_ + "/externals/node20/npm").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, ::geteuid());
    const auto parent = agent::package::open_directory(home_);
    ASSERT_TRUE(agent::package::remove_entry(parent->get(), "tree").ok());
    directory("tree");
  }
}

TEST_P(Unpacking, IgnoresSetIdBitsAndKeepsFilesUsable) {
  ASSERT_TRUE(unpack(make_archive({{"suid", "x", 06755, AE_IFREG, "", ""},
                                   folder("closed", 01000),
                                   {"closed/none", "x", 0, AE_IFREG, "", ""}}))
                  .ok());
  EXPECT_EQ(mode_of(tree_ + "/suid"), 0755U);
  EXPECT_EQ(mode_of(tree_ + "/closed"), 0700U);
  EXPECT_EQ(mode_of(tree_ + "/closed/none"), 0400U);
}

TEST_P(Unpacking, MakesParentsThatAreNotListedOrListedLate) {
  ASSERT_TRUE(unpack(make_archive({{"a/b/c", "x", 0644, AE_IFREG, "", ""}, folder("a/b", 0711)})).ok());
  EXPECT_EQ(mode_of(tree_ + "/a"), 0755U);
  EXPECT_EQ(mode_of(tree_ + "/a/b"), 0711U);
}

TEST_P(Unpacking, OfHardLinksInside) {
  ASSERT_TRUE(
      unpack(make_archive({{"one", "same", 0644, AE_IFREG, "", ""}, hard_link_to("d/two", "./one")})).ok());
  EXPECT_EQ(content(tree_ + "/d/two"), "same");
}

TEST_P(Unpacking, RefusesNamesThatLeadOut) {
  expect_unsafe({{"/chosen", "x"}}, Violation::absolute_name);
  expect_unsafe({{"../chosen", "x"}}, Violation::escaping_name);
  expect_unsafe({{"a/../../chosen", "x"}}, Violation::escaping_name);
  expect_unsafe({folder("_Work"), {"_Work/chosen", "x"}}, Violation::workspace_name);
  expect_unsafe({{std::string(256, 'n'), "x"}}, Violation::name_too_long);
}

TEST_P(Unpacking, RefusesLinksThatLeadOut) {
  expect_unsafe({link_to("chosen", "/etc/passwd")}, Violation::escaping_link);
  expect_unsafe({link_to("chosen", "../sentinel")}, Violation::escaping_link);
  expect_unsafe(
      {folder("d"), folder("d/e"), link_to("d/e/up", "../.."), link_to("chosen", "d/e/up/../sentinel")},
      Violation::escaping_link);
  expect_unsafe({hard_link_to("chosen", "../sentinel")}, Violation::bad_hard_link);
  expect_unsafe({hard_link_to("chosen", at("sentinel"))}, Violation::bad_hard_link);
  expect_unsafe({hard_link_to("chosen", "missing")}, Violation::bad_hard_link);
  expect_unsafe({link_to("l", "x"), hard_link_to("chosen", "l")}, Violation::bad_hard_link);
}

TEST_P(Unpacking, WritesThroughNoLink) {
  expect_unsafe({link_to("chosen", "."), {"chosen/x", "x"}}, Violation::through_a_link);
  expect_unsafe({folder("d"), link_to("chosen", "d"), {"chosen/x", "x"}}, Violation::through_a_link);
}

TEST_P(Unpacking, RefusesSpecialFiles) {
  for (const unsigned type : {AE_IFIFO, AE_IFCHR, AE_IFBLK}) {
    expect_unsafe({{"chosen", "", 0644, type, "", ""}}, Violation::special_file);
  }
}

TEST_P(Unpacking, RefusesDuplicates) {
  expect_unsafe({{"chosen", "x"}, {"chosen", "y"}}, Violation::duplicate);
  expect_unsafe({{"chosen", "x"}, {"./chosen", "y"}}, Violation::duplicate);
  expect_unsafe({folder("chosen"), folder("chosen/")}, Violation::duplicate);
  expect_unsafe({{"chosen", "x"}, {"chosen/y", "y"}}, Violation::duplicate);
  expect_unsafe({{"chosen/y", "x"}, {"chosen", "y"}}, Violation::duplicate);
}

TEST_P(Unpacking, IsBounded) {
  UnpackLimits few;
  few.entries = 2;
  expect_unsafe({{"a", "x"}, {"b", "x"}, {"c", "x"}}, Violation::too_many_entries, few);
  expect_unsafe({{"a/b/c/d", "x"}}, Violation::too_many_entries, few);
  UnpackLimits small;
  small.bytes = 1000;
  small.ratio = 1'000'000;
  expect_unsafe({{"chosen", std::string(1001, 'x')}}, Violation::too_large, small);
  expect_unsafe({{"a", std::string(600, 'x')}, hard_link_to("chosen", "a")}, Violation::too_large, small);
  UnpackLimits flat;
  flat.ratio = 20;
  expect_unsafe({{"chosen", std::string(1 << 20, 'x')}}, Violation::ratio_too_high, flat);
}

TEST_P(Unpacking, RefusesWhatIsNoWholeArchive) {
  const auto bytes = make_archive(scratch::runner_members());
  expect_unsafe_bytes("Not Found", Violation::unreadable);
  expect_unsafe_bytes(bytes.substr(0, bytes.size() / 2), Violation::unreadable);
}

INSTANTIATE_TEST_SUITE_P(Here, Unpacking, ::testing::Values(false, true),
                         [](const auto& param) { return param.param ? "child" : "process"; });

class Child : public scratch::Directory {};

TEST_F(Child, IsKilledPastItsDeadline) {
  const auto end = agent::package::run_child("/bin/sh", {"-c", "exec sleep 1000"}, Millis{200}, {});
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end->late);
  EXPECT_EQ(end->exit_code, -1);
}

TEST_F(Child, IsKilledWithItsGroupWhenItClosedItsOutput) {
  const auto marker = at("marker");
  const auto end = agent::package::run_child(
      "/bin/sh", {"-c", "echo $$ > " + marker + "; exec >&-; sleep 1000 & wait"}, Millis{500}, {});
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end->late);
  const auto group = std::stoi(content(marker));
  for (int i = 0; i < 500 && ::kill(-group, 0) == 0; ++i)
    ::usleep(10'000);
  EXPECT_NE(::kill(-group, 0), 0);
}

TEST_F(Child, IsKilledWhenCancelled) {
  const auto end =
      agent::package::run_child("/bin/sh", {"-c", "exec sleep 1000"}, Millis{60'000}, [] { return true; });
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, ErrorCode::cancelled);
}

TEST_F(Child, InheritsNothingAndSaysOneLine) {
  const Fd open(::open("/dev/null", O_RDONLY));  // without close-on-exec
  const auto end = agent::package::run_child(
      "/bin/sh", {"-c", "ls /proc/self/fd | wc -l; printf 'more\\n'; exit 7"}, Millis{20'000}, {});
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->exit_code, 7);
  EXPECT_EQ(end->line, "4");  // three, and the one that lists
}

TEST_F(Child, ThatCannotBeStartedIsSaid) {
  EXPECT_FALSE(agent::package::run_child(at("missing"), {}, Millis{1000}, {}).ok());
}

TEST_F(Child, RefusesWrongArguments) {
  const auto end = agent::package::run_child(kUnpacker, {"a", "b"}, Millis{20'000}, {});
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->exit_code, agent::package::kUnpackUsage);
}

TEST_F(Child, TakesOverNothingThatIsNotItsOwn) {
  const auto tree = directory("tree");
  file("outside", "x");
  ASSERT_EQ(::link(at("outside").c_str(), (tree + "/alias").c_str()), 0);
  const Fd root(::open(tree.c_str(), O_RDONLY | O_DIRECTORY));
  auto taken = agent::package::take_ownership(root.get(), ::geteuid(), {}, {});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, ErrorCode::invalid);
  ASSERT_EQ(::unlink((tree + "/alias").c_str()), 0);
  file("tree/own", "x");
  EXPECT_TRUE(agent::package::take_ownership(root.get(), ::geteuid(), {}, {}).ok());
  EXPECT_FALSE(agent::package::take_ownership(root.get(), ::geteuid() + 1, {}, {}).ok());
}

}  // namespace
