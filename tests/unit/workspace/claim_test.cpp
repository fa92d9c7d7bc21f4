#include "unit/workspace/scratch.hpp"
#include "workspace/workspace.hpp"

namespace {

using agent::domain::ErrorCode;
using agent::domain::InstallationId;
using agent::workspace::claim_root;
using agent::workspace::create_runtime;

const InstallationId kOurs("0b5c6a0e-ours");
const InstallationId kTheirs("0b5c6a0e-theirs");

class Claim : public scratch::Workspace {};

TEST_F(Claim, MakesTheRootWithAMark) {
  ASSERT_TRUE(claim_root(at("root"), kOurs).ok());
  EXPECT_EQ(mode_of(at("root")), 0711U);
  EXPECT_EQ(mode_of(at("root/.runner-manager-owner")), 0600U);
  EXPECT_EQ(content(at("root/.runner-manager-owner")), "0b5c6a0e-ours\n");
}

TEST_F(Claim, AcceptsItsOwnMarkAgainAndRepairsTheMode) {
  ASSERT_TRUE(claim_root(at("root"), kOurs).ok());
  ASSERT_TRUE(create_runtime(at("root"), "a").ok());
  ASSERT_EQ(::chmod(at("root").c_str(), 0755), 0);
  ASSERT_TRUE(claim_root(at("root") + "/", kOurs).ok());
  EXPECT_EQ(mode_of(at("root")), 0711U);
}

TEST_F(Claim, RefusesAForeignMarkAndLeavesIt) {
  ASSERT_TRUE(claim_root(at("root"), kTheirs).ok());
  const auto claimed = claim_root(at("root"), kOurs);
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().code, ErrorCode::denied);
  EXPECT_EQ(content(at("root/.runner-manager-owner")), "0b5c6a0e-theirs\n");
}

TEST_F(Claim, RefusesAMarkThatIsALinkOrWritableByOthers) {
  directory("root");
  file("elsewhere", "0b5c6a0e-ours\n");
  ASSERT_EQ(::symlink("../elsewhere", at("root/.runner-manager-owner").c_str()), 0);
  EXPECT_FALSE(claim_root(at("root"), kOurs).ok());
  ASSERT_EQ(::unlink(at("root/.runner-manager-owner").c_str()), 0);
  file("root/.runner-manager-owner", "0b5c6a0e-ours\n");
  ASSERT_EQ(::chmod(at("root/.runner-manager-owner").c_str(), 0666), 0);
  EXPECT_FALSE(claim_root(at("root"), kOurs).ok());
}

TEST_F(Claim, TakesAnEmptyDirectoryOnly) {
  directory("root");
  directory("root/lost+found");
  file("root/.runner-manager-owner.0123", "half");  // what a crash in the middle of a claim leaves
  EXPECT_TRUE(claim_root(at("root"), kOurs).ok());
  directory("full");
  file("full/data");
  const auto claimed = claim_root(at("full"), kOurs);
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().code, ErrorCode::denied);
  EXPECT_EQ(mode_of(at("full")), 0755U);
}

TEST_F(Claim, RefusesALinkAndADirectoryOfAnotherAccount) {
  directory("real");
  ASSERT_EQ(::symlink("real", at("link").c_str()), 0);
  EXPECT_FALSE(claim_root(at("link"), kOurs).ok());
  EXPECT_FALSE(exists(at("real/.runner-manager-owner")));
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  give_to_stranger(at("real"));
  const auto claimed = claim_root(at("real"), kOurs);
  ASSERT_FALSE(claimed.ok());
  EXPECT_EQ(claimed.error().code, ErrorCode::denied);
}

TEST_F(Claim, AnotherAccountPassesThroughARootAndCannotListIt) {
  ASSERT_EQ(::chmod(home_.c_str(), 0755), 0);
  ASSERT_TRUE(claim_root(at("root"), kOurs).ok());
  ASSERT_TRUE(create_runtime(at("root"), "a").ok());
  if (::geteuid() != 0) GTEST_SKIP() << "there is no second account to try with";
  EXPECT_TRUE(as_stranger([&] {
    struct stat info {};
    return ::stat(at("root/a").c_str(), &info) == 0 && ::open(at("root").c_str(), O_RDONLY) < 0 &&
           ::open(at("root/a").c_str(), O_RDONLY) < 0;
  }));
}

TEST_F(Claim, RuntimesAreMadeExclusively) {
  ASSERT_TRUE(claim_root(at("root"), kOurs).ok());
  ASSERT_TRUE(create_runtime(at("root"), "0123456789ab").ok());
  EXPECT_EQ(mode_of(at("root/0123456789ab")), 0700U);
  file("root/0123456789ab/kept", "kept");
  const auto again = create_runtime(at("root"), "0123456789ab");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::exists);
  EXPECT_EQ(content(at("root/0123456789ab/kept")), "kept");
}

TEST_F(Claim, RuntimeNamesAreSingleEntries) {
  directory("root");
  for (const std::string& name : std::vector<std::string>{"", ".", "..", "a/b", "../x", "/etc"}) {
    const auto made = create_runtime(at("root"), name);
    ASSERT_FALSE(made.ok()) << name;
    EXPECT_EQ(made.error().code, ErrorCode::invalid) << name;
  }
}

}  // namespace
