#include <sys/resource.h>

#include "unit/workspace/scratch.hpp"
#include "workspace/workspace.hpp"

namespace {

using agent::domain::Attempt;
using agent::domain::ErrorCode;
using agent::domain::Evidence;
using agent::workspace::read_evidence;
using agent::workspace::write_record;

class Diagnostics : public scratch::Workspace {};

TEST_F(Diagnostics, ProveNothingWhenTheyAreMissing) {
  EXPECT_EQ(*read_evidence(at("none")), Evidence::unknown);
  directory("runtime");
  EXPECT_EQ(*read_evidence(at("runtime")), Evidence::unknown);
  directory("runtime/_diag");
  EXPECT_EQ(*read_evidence(at("runtime")), Evidence::unknown);
  file("runtime/_diag/Worker_x.txt");
  file("runtime/_diag/Other.log");
  EXPECT_EQ(*read_evidence(at("runtime")), Evidence::unknown);
}

TEST_F(Diagnostics, OfTheListenerAloneProveThatNoJobRan) {
  directory("runtime");
  directory("runtime/_diag");
  file("runtime/_diag/Runner_20240102-030405-utc.log");
  EXPECT_EQ(*read_evidence(at("runtime")), Evidence::no_job);
}

TEST_F(Diagnostics, OfTheWorkerProveAJob) {
  directory("runtime");
  directory("runtime/_diag");
  file("runtime/_diag/Runner_20240102-030405-utc.log");
  file("runtime/_diag/Worker_20240102-030405-utc.log");
  EXPECT_EQ(*read_evidence(at("runtime")), Evidence::ran);
}

TEST_F(Diagnostics, OnlyRealFilesInARealDirectoryCount) {
  directory("runtime");
  directory("other");
  file("other/Worker_1.log");
  ASSERT_EQ(::symlink("../other", at("runtime/_diag").c_str()), 0);
  EXPECT_EQ(*read_evidence(at("runtime")), Evidence::unknown);
  ASSERT_EQ(::unlink(at("runtime/_diag").c_str()), 0);
  directory("runtime/_diag");
  ASSERT_EQ(::symlink("../../other/Worker_1.log", at("runtime/_diag/Worker_1.log").c_str()), 0);
  ASSERT_EQ(::mkfifo(at("runtime/_diag/Worker_2.log").c_str(), 0600), 0);
  EXPECT_EQ(*read_evidence(at("runtime")), Evidence::unknown);
}

// The descriptor table is full: the file system was not asked, so nothing is known.
TEST_F(Diagnostics, ThatCannotBeReadAreAFailureAndNoEvidence) {
  directory("runtime");
  directory("runtime/_diag");
  file("runtime/_diag/Worker_1.log");
  const std::string runtime = at("runtime");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto read = read_evidence(runtime);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::retry);
}

// An ordinary account meets what a job closed; root does not.
TEST_F(Diagnostics, ThatAJobClosedProveNothing) {
  directory("runtime");
  file("runtime/_diag");
  EXPECT_EQ(*read_evidence(at("runtime")), Evidence::unknown);
}

class Record : public scratch::Workspace {
 protected:
  static Attempt attempt() {
    Attempt made;
    made.id = agent::domain::AttemptId("6f1d2c3b-4a59-4e6f-8a7b-9c0d1e2f3a4b");
    made.policy.name = agent::domain::PolicyName("linux\nbig");
    made.outcome = agent::domain::Outcome{agent::domain::OutcomeKind::failed,
                                          agent::domain::FailureReason::jit_expired, false};
    return made;
  }
};

TEST_F(Record, IsFourLines) {
  ASSERT_TRUE(write_record(at("records"), attempt()).ok());
  const auto path = at("records/6f1d2c3b-4a59-4e6f-8a7b-9c0d1e2f3a4b.record");
  EXPECT_EQ(content(path),
            "attempt: 6f1d2c3b-4a59-4e6f-8a7b-9c0d1e2f3a4b\npolicy: linux?big\noutcome: failed\n"
            "reason: jit_expired\n");
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_EQ(mode_of(at("records")), 0700U);
}

TEST_F(Record, IsReplacedWholeAndLeavesNothingElse) {
  auto made = attempt();
  ASSERT_TRUE(write_record(at("records"), made).ok());
  made.outcome = agent::domain::Outcome{agent::domain::OutcomeKind::completed_job, std::nullopt, false};
  ASSERT_TRUE(write_record(at("records"), made).ok());
  EXPECT_NE(
      content(at("records/" + made.id.str() + ".record")).find("outcome: completed_job\nreason: none\n"),
      std::string::npos);
  const std::filesystem::directory_iterator entries(at("records"));
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
}

TEST_F(Record, NeedsAnOutcome) {
  auto made = attempt();
  made.outcome.reset();
  const auto written = write_record(at("records"), made);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::invalid);
}

TEST_F(Record, FollowsNoLink) {
  directory("real");
  ASSERT_EQ(::symlink("real", at("records").c_str()), 0);
  EXPECT_FALSE(write_record(at("records"), attempt()).ok());
  EXPECT_TRUE(std::filesystem::is_empty(at("real")));
}

}  // namespace
