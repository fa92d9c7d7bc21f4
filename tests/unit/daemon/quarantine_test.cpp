#include "daemon/quarantine.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary.hpp"

namespace agent::daemon {
namespace {

const std::string kDigest(64, 'a');
const std::string kOther(64, 'b');

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
  void crash(const std::string& note = kDigest + "\n") {
    std::ofstream(directory_ / "crashed") << note;
    EXPECT_TRUE(Quarantine(*journal_).count_crashes(directory_ / "crashed").ok());
  }
  std::int64_t crashes(const std::string& digest = kDigest) {
    const auto counted = Quarantine(*journal_).crashes(digest);
    EXPECT_TRUE(counted.ok());
    return counted.ok() ? *counted : -1;
  }
  testkit::TemporaryDirectory directory_{0700};
  std::unique_ptr<journal::Journal> journal_;
};

TEST_F(QuarantineTest, counts_crashes_over_starts) {
  EXPECT_EQ(crashes(), 0);
  crash();
  EXPECT_EQ(crashes(), 1);
  crash();
  EXPECT_EQ(crashes(), 2);
  EXPECT_EQ(crashes(), 2) << "a start alone proves nothing";
}

TEST_F(QuarantineTest, counts_one_crash_of_a_process_however_many_threads_noted_it) {
  crash(kDigest + "\n" + kOther + "\n" + kDigest + "\n");
  EXPECT_EQ(crashes(), 1);
  EXPECT_EQ(crashes(kOther), 1);
}

TEST_F(QuarantineTest, forgives_after_a_long_run_what_was_in_use_in_it) {
  crash();
  crash(kOther + "\n");
  Quarantine quarantine(*journal_);
  quarantine.in_use(kDigest);
  ASSERT_TRUE(quarantine.forget_crashes().ok());
  EXPECT_EQ(crashes(), 0);
  EXPECT_EQ(crashes(kOther), 1) << "the run proves nothing about it";
}

TEST_F(QuarantineTest, blames_nobody_for_a_load_that_was_killed) {
  // Whoever is killed while it loads comes as far as the look, again and again.
  for (int start = 0; start < 3; ++start)
    EXPECT_EQ(crashes(), 0);
}

TEST_F(QuarantineTest, is_lifted_by_the_operator) {
  crash();
  crash();
  EXPECT_EQ(crashes(), 2);
  ASSERT_TRUE(Quarantine(*journal_).release(kDigest).ok());
  EXPECT_EQ(crashes(), 0);
}

}  // namespace
}  // namespace agent::daemon
