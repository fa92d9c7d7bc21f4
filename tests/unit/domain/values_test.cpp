#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <unordered_set>

#include "domain/ids.hpp"
#include "domain/result.hpp"
#include "domain/target.hpp"
#include "domain/time.hpp"
#include "tests/unit/domain/support.hpp"

namespace agent::domain {
namespace {

using testing::at;

TEST(Result, CarriesAValueOrAnError) {
  Result<std::string> good{std::string{"yes"}};
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, "yes");
  EXPECT_EQ(good->size(), 3U);
  const Result<std::string> bad{Error{ErrorCode::denied, "no", std::chrono::milliseconds{7}}};
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::denied);
  EXPECT_EQ(bad.error().retry_after.count(), 7);
}

TEST(Result, OfNothingIsGoodUntilAnErrorIsGiven) {
  EXPECT_TRUE(Result<void>{}.ok());
  const Result<void> bad{Error{ErrorCode::full, "full", {}}};
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "full");
}

TEST(Result, EveryCodeHasItsOwnWord) {
  std::set<std::string_view> words;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    words.insert(to_string(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(words.size(), static_cast<std::size_t>(ErrorCode::internal) + 1);
}

TEST(Ids, AnAttemptIdIsACanonicalUuidOfVersionFour) {
  EXPECT_TRUE(parse_attempt_id("0f8fad5b-d9cb-469f-a165-70867728950e").ok());
  for (const char* bad : {"", "0f8fad5b-d9cb-469f-a165-70867728950", "0f8fad5b-d9cb-469f-a165-70867728950e0",
                          "0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5b-d9cb-169f-a165-70867728950e",
                          "0f8fad5b-d9cb-469f-c165-70867728950e", "0f8fad5bd-9cb-469f-a165-70867728950e",
                          "0f8fad5b-d9cb-469f-a165-7086772895/e", "../fad5b-d9cb-469f-a165-70867728950e"}) {
    EXPECT_FALSE(parse_attempt_id(bad).ok()) << bad;
  }
  for (const char variant : {'8', '9', 'a', 'b'}) {
    EXPECT_TRUE(parse_attempt_id(std::string{"0f8fad5b-d9cb-469f-"} + variant + "165-70867728950e").ok());
  }
}

TEST(Ids, ARunnerNameLeadsBackToItsAttemptAndFitsGithub) {
  const std::string name = runner_name(testing::kAttempt);
  EXPECT_EQ(name, "runner-manager-0f8fad5b-d9cb-469f-a165-70867728950e");
  EXPECT_LE(name.size(), 64U);
  ASSERT_TRUE(attempt_of_runner_name(name).ok());
  EXPECT_EQ(*attempt_of_runner_name(name), testing::kAttempt);
}

TEST(Ids, ANameThatIsNotExactlyOursIsNotOurs) {
  const std::string name = runner_name(testing::kAttempt);
  for (const std::string& bad :
       {std::string{}, std::string{"runner-manager-"}, name + " ", name + "-1", " " + name,
        std::string{"Runner-Manager-0f8fad5b-d9cb-469f-a165-70867728950e"},
        std::string{"0f8fad5b-d9cb-469f-a165-70867728950e"}}) {
    EXPECT_FALSE(attempt_of_runner_name(bad).ok()) << bad;
  }
}

TEST(Ids, ARuntimeDirectoryIsTheFirstTwelveHexDigits) {
  EXPECT_EQ(runtime_directory_name(testing::kAttempt), "0f8fad5bd9cb");
}

TEST(Ids, HashAndCompareByValue) {
  EXPECT_EQ(PolicyName{"a"}, PolicyName{"a"});
  EXPECT_LT(RunnerId{1}, RunnerId{2});
  const std::unordered_set<RunnerId> numbers{RunnerId{1}, RunnerId{1}, RunnerId{2}};
  EXPECT_EQ(numbers.size(), 2U);
  const std::unordered_set<PolicyName> names{PolicyName{"a"}, PolicyName{"b"}, PolicyName{"b"}};
  EXPECT_EQ(names.size(), 2U);
}

TEST(Target, IsARepositoryOrAnOrganization) {
  EXPECT_EQ(testing::target("acme/Widgets").kind(), TargetKind::repository);
  EXPECT_EQ(testing::target("acme").kind(), TargetKind::organization);
}

TEST(Target, ComparesFoldedAndPrintsAsWritten) {
  const Target a = testing::target("Acme/Widgets.JS");
  EXPECT_EQ(a, testing::target("acme/widgets.js"));
  EXPECT_EQ(a.str(), "Acme/Widgets.JS");
  EXPECT_EQ(a.key(), "acme/widgets.js");
  EXPECT_LT(testing::target("A/b"), testing::target("a/C"));
}

TEST(Target, RefusesWhatIsNoTarget) {
  const std::string hundred(100, 'a');
  EXPECT_TRUE(Target::parse(hundred + "/" + hundred).ok());
  for (const std::string& bad :
       {std::string{}, std::string{"/"}, std::string{"a/"}, std::string{"/a"}, std::string{"a/b/c"},
        std::string{"a//b"}, std::string{"a b"}, std::string{"a/.."}, std::string{"./a"},
        std::string{"https://github.com/a/b"}, std::string{"a/b?c"}, std::string{"a\nb"}, hundred + "a",
        "a/" + hundred + "b", std::string("a\0b", 3)}) {
    const Result<Target> parsed = Target::parse(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid);
  }
}

TEST(Time, WithinOneBootOnlyBootTimeCounts) {
  const Instant before = at(0);
  Instant later = at(1'000);
  later.wall_ms += 86'400'000;
  EXPECT_EQ(elapsed(before, later), Millis{1'000});
  later.wall_ms -= 10 * 86'400'000LL;
  EXPECT_EQ(elapsed(before, later), Millis{1'000});
}

TEST(Time, AcrossBootsWallTimeCountsAndNeverBackwards) {
  const Instant before = at(0);
  Instant later{testing::kWall + 2'000, 10, BootId{"boot-b"}};
  EXPECT_EQ(elapsed(before, later), Millis{2'000});
  later.wall_ms = testing::kWall - 1;
  EXPECT_EQ(elapsed(before, later), Millis{0});
}

TEST(Time, ToldInANewBootNoWallClockDisturbsItAnyMore) {
  const Instant before = at(0);
  Instant now{testing::kWall + 2'000, 10, BootId{"boot-b"}};
  const Instant told = rebased(before, now);
  EXPECT_EQ(elapsed(told, now), Millis{2'000});
  now.boot_ms += 500;
  now.wall_ms -= 86'400'000;
  EXPECT_EQ(elapsed(told, now), Millis{2'500});
  EXPECT_EQ(rebased(told, now), told) << "once told in this boot it stays as it is";
}

TEST(Time, AClockThatWasSetBackBetweenTwoBootsCountsFromTheNewOne) {
  Instant now{testing::kWall - 7'200'000, 10, BootId{"boot-b"}};
  const Instant told = rebased(at(0), now);
  now.boot_ms += 120'000;
  EXPECT_EQ(elapsed(told, now), Millis{120'000});
}

TEST(Time, TwoUnknownBootsAreNotOneBoot) {
  EXPECT_EQ(elapsed({100, 0, BootId{}}, {200, 5'000, BootId{}}), Millis{100});
}

TEST(Time, BootTimeThatRunsBackwardsIsNoTime) { EXPECT_EQ(elapsed(at(5), at(0)), Millis{0}); }

TEST(Time, NothingOverflows) {
  constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t high = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(elapsed({low, low, BootId{"a"}}, {high, high, BootId{"a"}}), Millis{high});
  EXPECT_EQ(elapsed({low, 0, BootId{"a"}}, {high, 0, BootId{"b"}}), Millis{high});
  EXPECT_EQ(after({high, high, BootId{"a"}}, Millis{1}), (Instant{high, high, BootId{"a"}}));
  EXPECT_EQ(after({low, low, BootId{"a"}}, Millis{-1}), (Instant{low, low, BootId{"a"}}));
}

TEST(Time, IsReachedAtTheMomentItselfAndNotBefore) {
  const Instant due = after(at(0), Millis{30'000});
  EXPECT_EQ(due, at(30'000));
  EXPECT_FALSE(reached(due, at(29'999)));
  EXPECT_TRUE(reached(due, at(30'000)));
  Instant jumped = at(29'999);
  jumped.wall_ms += 86'400'000;
  EXPECT_FALSE(reached(due, jumped));
  EXPECT_TRUE(reached(due, {due.wall_ms, 1, BootId{"boot-b"}}));
  EXPECT_FALSE(reached(due, {due.wall_ms - 1, 1, BootId{"boot-b"}}));
}

}  // namespace
}  // namespace agent::domain
