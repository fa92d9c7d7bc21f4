#include "daemon/quarantine.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary.hpp"

namespace agent::daemon {
namespace {

const std::string kDigest(64, 'a');

class QuarantineTest : public ::testing::Test {
 protected:
  QuarantineTest() {
    journal::OpenOptions options;
    options.path = directory_ / "journal.db";
    options.installation = "00000000-0000-4000-8000-000000000001";
    options.machine = "machine";
    auto opened = journal::Journal::open(options);
    EXPECT_TRUE(opened.ok());
    journal_ = std::move(*opened);
  }
  void crash() {
    std::ofstream(directory_ / "crashed") << kDigest << '\n';
    EXPECT_TRUE(Quarantine(*journal_).count_crashes(directory_ / "crashed").ok());
  }
  // As a start does: the count, and the load that goes well.
  std::int64_t start() {
    Quarantine quarantine(*journal_);
    const auto left_over = quarantine.begin(kDigest);
    EXPECT_TRUE(quarantine.end(kDigest).ok());
    return *left_over;
  }
  testkit::TemporaryDirectory directory_{0700};
  std::unique_ptr<journal::Journal> journal_;
};

TEST_F(QuarantineTest, counts_crashes_over_starts_although_the_library_loads) {
  EXPECT_EQ(start(), 0);
  crash();
  EXPECT_EQ(start(), 1);
  crash();
  EXPECT_EQ(start(), 2);
  EXPECT_EQ(start(), 2) << "a start alone proves nothing";
}

TEST_F(QuarantineTest, forgets_crashes_after_a_long_run) {
  crash();
  ASSERT_TRUE(Quarantine(*journal_).forget_crashes().ok());
  EXPECT_EQ(start(), 0);
}

TEST_F(QuarantineTest, counts_loads_that_never_ended) {
  Quarantine quarantine(*journal_);
  EXPECT_EQ(*quarantine.begin(kDigest), 0);
  EXPECT_EQ(*quarantine.begin(kDigest), 1);
  EXPECT_EQ(*quarantine.begin(kDigest), 2);
}

TEST_F(QuarantineTest, is_lifted_by_the_operator) {
  crash();
  crash();
  Quarantine quarantine(*journal_);
  EXPECT_EQ(*quarantine.begin(kDigest), 2);
  ASSERT_TRUE(quarantine.release(kDigest).ok());
  EXPECT_EQ(*quarantine.begin(kDigest), 0);
}

}  // namespace
}  // namespace agent::daemon
