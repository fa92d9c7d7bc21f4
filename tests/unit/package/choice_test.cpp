#include "package/choice.hpp"

#include <gtest/gtest.h>

#include "package/digest.hpp"

namespace {

using agent::domain::ErrorCode;
using agent::package::choose;
using agent::package::Offer;
using agent::package::Version;

const std::string kDigest(64, 'a');
const std::string kOther(64, 'b');

Offer offer(const std::string& version, const std::string& digest = kDigest) {
  return {version, "actions-runner-linux-x64-" + version + ".tar.gz", digest, 1, "ref"};
}

TEST(Versions, AreTwoToFourNumbers) {
  for (const char* good : {"2.3", "2.334.0", "1.2.3.4", "0.0", "10.20.30", "999999999.1"}) {
    EXPECT_TRUE(Version::parse(good)) << good;
  }
  for (const char* bad : {"", "2", "1.2.3.4.5", "2.", ".2", "2..3", "a.b", "2.3-beta", "v2.3", "-1.2", "+1.2",
                          "2.3 ", " 2.3", "9999999999.1", "2,3"}) {
    EXPECT_FALSE(Version::parse(bad)) << bad;
  }
}

TEST(Versions, CompareAsNumbers) {
  const auto less = [](const char* a, const char* b) { return *Version::parse(a) < *Version::parse(b); };
  EXPECT_TRUE(less("2.9.0", "2.10.0"));
  EXPECT_TRUE(less("2.334", "2.334.1"));
  EXPECT_TRUE(less("2.99.99", "3.0"));
  EXPECT_FALSE(less("2.334", "2.334.0"));
  EXPECT_TRUE(*Version::parse("2.334") == *Version::parse("2.334.0.0"));
}

TEST(Choosing, TakesTheNewest) {
  const auto choice = choose({offer("2.9.0"), offer("2.10.0", kOther), offer("2.1.0")}, {});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->offer.version, "2.10.0");
  EXPECT_EQ(choice->digest.str(), kOther);
}

TEST(Choosing, PassesOverWhatIsNoPackage) {
  auto strange = offer("9.0.0");
  strange.filename = "actions-runner.exe";
  const auto choice = choose({strange, offer("nine"), offer("2.1.0")}, {});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->offer.version, "2.1.0");
  EXPECT_EQ(choose({strange}, {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(choose({}, {}).error().code, ErrorCode::not_found);
}

TEST(Choosing, RefusesEveryUnusableDigestWithoutAPin) {
  for (const std::string& digest : std::vector<std::string>{
           "", " ", "abc", std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'),
           std::string(64, 'g'), kDigest + "\n", "sha256:" + kDigest}) {
    EXPECT_EQ(choose({offer("2.1.0", digest)}, {}).error().code, ErrorCode::denied) << digest;
    const auto pinned = choose({offer("2.1.0", digest)}, {{"2.1.0", kOther}});
    ASSERT_TRUE(pinned.ok()) << digest;
    EXPECT_EQ(pinned->digest.str(), kOther);
  }
}

TEST(Choosing, APinIsForItsVersionAlone) {
  EXPECT_EQ(choose({offer("2.2.0", "")}, {{"2.1.0", kOther}}).error().code, ErrorCode::denied);
  EXPECT_TRUE(choose({offer("2.2.0", "")}, {{"2.1.0", kDigest}, {"2.2", kOther}}).ok());
}

TEST(Choosing, NeverFallsBackToAnOlderVersion) {
  EXPECT_EQ(choose({offer("2.2.0", ""), offer("2.1.0")}, {}).error().code, ErrorCode::denied);
}

TEST(Choosing, APinThatContradictsThePublishedDigestIsRefused) {
  EXPECT_EQ(choose({offer("2.1.0")}, {{"2.1.0", kOther}}).error().code, ErrorCode::denied);
  EXPECT_TRUE(choose({offer("2.1.0")}, {{"2.1.0", kDigest}}).ok());
}

TEST(Choosing, OfTwoWithOneVersionTakesTheUsable) {
  const auto choice = choose({offer("2.1.0", ""), offer("2.1.0")}, {});
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->digest.str(), kDigest);
}

TEST(Digest, OfKnownText) {
  agent::package::Sha256 hash;
  EXPECT_EQ(hash.finish(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  hash.update("a");
  hash.update("bc");
  EXPECT_EQ(hash.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
