#include <set>

#include "unit/workspace/scratch.hpp"
#include "workspace/filesystem.hpp"
#include "workspace/text.hpp"
#include "workspace/workspace.hpp"

namespace {

using agent::workspace::check_root;
using agent::workspace::FilesystemKind;
using agent::workspace::Preflight;
using agent::workspace::RootRefusal;

class RootPreflight : public scratch::Workspace {
 protected:
  static void expect(const Preflight& seen, RootRefusal refusal) {
    EXPECT_FALSE(seen.ready);
    ASSERT_TRUE(seen.refusal.has_value());
    EXPECT_EQ(to_string(*seen.refusal), to_string(refusal));
    EXPECT_FALSE(seen.remedy.empty());
    EXPECT_EQ(seen.remedy.back(), '.');
  }
};

TEST_F(RootPreflight, AcceptsAnExistingDirectoryOfOurs) {
  const auto seen = check_root(directory("root"), {at("state")});
  EXPECT_TRUE(seen.ready) << seen.remedy;
  EXPECT_FALSE(seen.refusal.has_value());
  EXPECT_TRUE(seen.remedy.empty());
}

TEST_F(RootPreflight, AcceptsAMissingDirectoryWithAParentAndCreatesNothing) {
  EXPECT_TRUE(check_root(at("root"), {}).ready);
  EXPECT_TRUE(check_root(at("root") + "//./", {}).ready);
  EXPECT_FALSE(exists(at("root")));
}

TEST_F(RootPreflight, RefusesAPathThatIsNotUtf8) {
  expect(check_root(home_ + "/\xFF", {}), RootRefusal::non_unicode);
  expect(check_root(home_ + std::string("/a\0b", 4), {}), RootRefusal::non_unicode);
}

TEST_F(RootPreflight, RefusesARelativePath) {
  expect(check_root("runners", {}), RootRefusal::not_absolute);
  expect(check_root("", {}), RootRefusal::not_absolute);
}

TEST_F(RootPreflight, RefusesAPathThatClimbs) {
  expect(check_root(home_ + "/../x", {}), RootRefusal::escapes_root);
}

TEST_F(RootPreflight, RefusesTheFilesystemRoot) {
  expect(check_root("/", {}), RootRefusal::filesystem_root);
  expect(check_root("//./", {}), RootRefusal::filesystem_root);
}

TEST_F(RootPreflight, RefusesAFile) { expect(check_root(file("root"), {}), RootRefusal::existing_file); }

TEST_F(RootPreflight, RefusesALinkAtTheEndAndOnTheWay) {
  directory("real");
  ASSERT_EQ(::symlink("real", at("link").c_str()), 0);
  expect(check_root(at("link"), {}), RootRefusal::symlinked);
  expect(check_root(at("link/root"), {}), RootRefusal::symlinked);
}

TEST_F(RootPreflight, RefusesMissingParents) {
  expect(check_root(at("no/root"), {}), RootRefusal::missing_parents);
}

TEST_F(RootPreflight, RefusesAParentThatIsAFile) {
  file("file");
  expect(check_root(at("file/root"), {}), RootRefusal::parent_not_a_directory);
}

TEST_F(RootPreflight, RefusesADirectoryThatEverybodyCanWrite) {
  expect(check_root(directory("root", 0777), {}), RootRefusal::world_writable);
  expect(check_root(directory("sticky", 01777), {}), RootRefusal::world_writable);
}

TEST_F(RootPreflight, RefusesAParentInWhichEverybodyCanRename) {
  directory("open", 0777);
  expect(check_root(at("open/root"), {}), RootRefusal::world_writable);
  directory("sticky", 01777);
  EXPECT_TRUE(check_root(at("sticky/root"), {}).ready);
}

TEST_F(RootPreflight, RefusesAReadOnlyMount) {
  const auto root = directory("root");
  if (!mount("-t tmpfs -o ro,mode=0755", "none", root)) GTEST_SKIP() << "this account cannot mount a tmpfs";
  expect(check_root(root, {}), RootRefusal::not_writable);
  expect(check_root(root + "/new", {}), RootRefusal::parent_not_writable);
}

TEST_F(RootPreflight, RefusesWhatAnOrdinaryAccountCannotWrite) {
  directory("root", 0555);
  ASSERT_EQ(::chmod(home_.c_str(), 0755), 0);
  give_to_stranger(at("root"));
  EXPECT_TRUE(as_stranger([&] { return check_root(at("root"), {}).refusal == RootRefusal::not_writable; }));
  EXPECT_TRUE(as_stranger(
      [&] { return check_root(at("root/new"), {}).refusal == RootRefusal::parent_not_writable; }));
}

TEST_F(RootPreflight, RefusesARootOfAnotherAccount) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  directory("root");
  give_to_stranger(at("root"));
  expect(check_root(at("root"), {}), RootRefusal::not_writable);
}

TEST_F(RootPreflight, RefusesWhatCannotBeExamined) {
  directory("closed", 0700);
  directory("closed/inner");
  ASSERT_EQ(::chmod(at("closed").c_str(), 0), 0);
  ASSERT_EQ(::chmod(home_.c_str(), 0755), 0);
  EXPECT_TRUE(as_stranger(
      [&] { return check_root(at("closed/inner"), {}).refusal == RootRefusal::not_inspectable; }));
  expect(check_root(home_ + "/" + std::string(300, 'n') + "/root", {}), RootRefusal::not_inspectable);
  ASSERT_EQ(::chmod(at("closed").c_str(), 0700), 0);
}

TEST_F(RootPreflight, RefusesAFilesystemThatProvesNothing) {
  expect(check_root("/proc/runners", {}), RootRefusal::unprovable_filesystem);
}

TEST_F(RootPreflight, RefusesOverlapWithApplicationDataInBothDirections) {
  directory("state");
  directory("state/inner");
  expect(check_root(at("state"), {at("state")}), RootRefusal::overlaps_application_data);
  expect(check_root(at("state/inner"), {at("state")}), RootRefusal::overlaps_application_data);
  expect(check_root(at("state/new"), {at("state")}), RootRefusal::overlaps_application_data);
  expect(check_root(home_, {at("state")}), RootRefusal::overlaps_application_data);
  expect(check_root(at("root"), {at("root/cache")}), RootRefusal::overlaps_application_data);
  EXPECT_TRUE(check_root(at("state2"), {at("state")}).ready);
}

TEST_F(RootPreflight, SeesOverlapThroughALink) {
  directory("root");
  directory("root/cache");
  ASSERT_EQ(::symlink("root/cache", at("alias").c_str()), 0);
  expect(check_root(at("root"), {at("alias")}), RootRefusal::overlaps_application_data);
}

TEST_F(RootPreflight, SeesOverlapThroughABindMount) {
  directory("state");
  const auto root = directory("root");
  if (!mount("--bind", at("state"), root)) GTEST_SKIP() << "this account cannot bind-mount";
  expect(check_root(root, {at("state")}), RootRefusal::overlaps_application_data);
  expect(check_root(root + "/new", {at("state")}), RootRefusal::overlaps_application_data);
}

TEST_F(RootPreflight, SharesARootButNestsNone) {
  directory("a");
  EXPECT_TRUE(check_root(at("a"), {}, {{.root = at("a")}}).ready);
  expect(check_root(at("a/b"), {}, {{.root = at("a")}}), RootRefusal::overlaps_another_root);
  expect(check_root(at("a"), {}, {{.root = at("a/b")}}), RootRefusal::overlaps_another_root);
}

TEST_F(RootPreflight, ThatKeepsWorkSharesItsRootWithNobodyUnderAnyName) {
  directory("a");
  ASSERT_EQ(::symlink("a", at("alias").c_str()), 0);
  for (const char* name : {"a", "alias"}) {
    expect(check_root(at("a"), {}, {{.root = at(name), .may_be_the_same = false}}),
           RootRefusal::overlaps_another_root);
    EXPECT_TRUE(check_root(at("a"), {}, {{.root = at(name)}}).ready);
  }
}

TEST_F(RootPreflight, OfARootThatIsTakenSaysByWhat) {
  using agent::domain::InstallationId;
  using agent::workspace::prepare_root;
  const InstallationId ours("ours"), theirs("theirs");
  EXPECT_TRUE(prepare_root(at("root"), {}, {}, ours).ready);
  EXPECT_TRUE(prepare_root(at("root"), {}, {}, ours).ready) << "our own mark";
  expect(prepare_root(at("root"), {}, {}, theirs), RootRefusal::owned_by_another_installation);
  directory("full");
  file("full/data");
  expect(prepare_root(at("full"), {}, {}, ours), RootRefusal::holds_other_files);
  EXPECT_EQ(content(at("full/data")), "x");
  expect(prepare_root(at("no/root"), {}, {}, ours), RootRefusal::missing_parents);
  directory("marked");
  ASSERT_EQ(::symlink("../root/.runner-manager-owner", at("marked/.runner-manager-owner").c_str()), 0);
  expect(prepare_root(at("marked"), {}, {}, ours), RootRefusal::owned_by_another_installation);
  ASSERT_EQ(::unlink(at("marked/.runner-manager-owner").c_str()), 0);
  EXPECT_TRUE(prepare_root(at("marked"), {}, {}, ours).ready) << "mended";
}

TEST(RootRefusalWords, AreDistinct) {
  std::set<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(RootRefusal::holds_other_files); ++i) {
    words.insert(to_string(static_cast<RootRefusal>(i)));
  }
  EXPECT_EQ(words.size(), 18U);
  EXPECT_FALSE(words.contains("unknown"));
}

// Network filesystems cannot be mounted in every place where tests run, so the table stands for them.
TEST(Filesystem, KindFollowsFromTheMagicNumber) {
  using agent::workspace::filesystem_kind;
  for (const std::uint64_t local :
       {0xEF53U, 0x58465342U, 0x9123683EU, 0x01021994U, 0x794C7630U, 0x2FC12FC1U}) {
    EXPECT_EQ(filesystem_kind(local), FilesystemKind::local) << local;
  }
  for (const std::uint64_t remote : {0x6969U, 0x517BU, 0xFF534D42U, 0xFE534D42U, 0x65735546U, 0x01021997U}) {
    EXPECT_EQ(filesystem_kind(remote), FilesystemKind::remote) << remote;
  }
  for (const std::uint64_t other : {0U, 0x9FA0U, 0x62656572U, 0x12345678U}) {
    EXPECT_EQ(filesystem_kind(other), FilesystemKind::unknown) << other;
  }
}

TEST(Utf8, IsTold) {
  using agent::workspace::is_utf8;
  for (const char* good : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"})
    EXPECT_TRUE(is_utf8(good));
  for (const char* bad : {"\xFF", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80", "\x80", "a\xE2\x82"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

}  // namespace
