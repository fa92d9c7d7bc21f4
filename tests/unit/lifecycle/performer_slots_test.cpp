// What launches and cleaning do to real directories of a persistent workspace.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "domain/slots.hpp"
#include "lifecycle/performer.hpp"
#include "tests/support/temporary.hpp"

namespace {

namespace fs = std::filesystem;
using namespace agent;
using domain::ErrorCode;
using domain::Result;
using domain::SlotRefusal;
using lifecycle::Performed;
using lifecycle::event::Failed;
using lifecycle::event::Materialized;
using lifecycle::event::Scrubbed;

// Copies two files, or breaks off after the first.
class TwoFiles final : public package::Cache {
 public:
  bool breaks = false;

  Result<package::Installed> acquire(package::Source&, const package::Query&,
                                     const package::Cancelled&) override {
    return domain::Error{ErrorCode::internal, "not asked for here", {}};
  }
  Result<package::Copied> materialize(const domain::PackageDigest&, const std::string& destination,
                                      const package::Cancelled&) override {
    fs::create_directory(destination + "/bin");
    std::ofstream(destination + "/bin/Runner.Listener") << "listener";
    if (breaks) return domain::Error{ErrorCode::retry, "broke off", {}};
    std::ofstream(destination + "/run.sh") << "run";
    return package::Copied{3, 11};
  }
  Result<std::int64_t> prune(const std::set<domain::PackageDigest>&, const package::Cancelled&) override {
    return 0;
  }
  void refresh(const package::Query&) override {}
};

class PerformerSlots : public ::testing::Test {
 protected:
  PerformerSlots() : performer_(surroundings()) {
    fs::create_directory(root());
    attempt_.id = domain::AttemptId("0a1b2c3d-0000-4000-8000-000000000001");
    attempt_.policy.name = domain::PolicyName("policy");
    attempt_.policy.target = *domain::Target::parse("acme/widgets");
    attempt_.policy.workspace = domain::WorkspaceKind::persistent;
    attempt_.policy.root = root();
    attempt_.slot = 1;
    attempt_.runtime = slot();
    attempt_.package = domain::PackageDigest(std::string(64, 'a'));
    attempt_.outcome =
        domain::Outcome{.kind = domain::OutcomeKind::failed, .reason = domain::FailureReason::other};
  }

  [[nodiscard]] std::string root() const { return directory_ / "root"; }
  [[nodiscard]] std::string slot() const { return root() + "/s1"; }
  Performed materialize() { return performer_.materialize(call_, attempt_); }
  Performed scrub(const domain::Policy* configured = nullptr) {
    return performer_.scrub(call_, attempt_, configured);
  }
  void keep(const std::string& text) const {
    fs::create_directories(slot() + "/_work");
    std::ofstream(slot() + "/_work/kept") << text;
  }
  static std::string content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(slot()))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  template <class Wanted>
  static bool is(const Performed& performed) {
    return std::holds_alternative<Wanted>(performed.body);
  }
  static std::optional<SlotRefusal> refusal(const Performed& performed) {
    const auto* failed = std::get_if<Failed>(&performed.body);
    return failed != nullptr ? failed->slot : std::nullopt;
  }

  testkit::TemporaryDirectory directory_;
  TwoFiles cache_;
  domain::Attempt attempt_;
  plugin::Call call_{"test", std::chrono::steady_clock::now() + std::chrono::minutes(5)};
  lifecycle::Performer performer_;

 private:
  lifecycle::Surroundings surroundings() {
    lifecycle::Surroundings around;
    around.cache = &cache_;
    around.records = directory_ / "records";
    return around;
  }
};

TEST_F(PerformerSlots, a_launch_fills_the_slot_beside_the_work_and_cleaning_leaves_the_work) {
  keep("from before");
  ASSERT_TRUE(is<Materialized>(materialize()));
  EXPECT_EQ(entries(), (std::vector<std::string>{"_work", "bin", "run.sh"}));
  ASSERT_TRUE(is<Scrubbed>(scrub()));
  EXPECT_EQ(entries(), std::vector<std::string>{"_work"});
  EXPECT_EQ(content(slot() + "/_work/kept"), "from before");
  EXPECT_EQ(std::distance(fs::directory_iterator(root()), {}), 1) << "nothing beside the slot";
}

TEST_F(PerformerSlots, a_launch_that_is_rolled_back_keeps_the_work) {
  keep("from before");
  cache_.breaks = true;
  EXPECT_TRUE(is<Failed>(materialize()));
  cache_.breaks = false;
  attempt_.launch_retry.tries = 1;
  ASSERT_TRUE(is<Materialized>(materialize())) << "another try begins with what the first left";
  EXPECT_EQ(entries(), (std::vector<std::string>{"_work", "bin", "run.sh"}));
  cache_.breaks = true;
  EXPECT_TRUE(is<Failed>(materialize()));
  ASSERT_TRUE(is<Scrubbed>(scrub()));
  EXPECT_EQ(entries(), std::vector<std::string>{"_work"});
  EXPECT_EQ(content(slot() + "/_work/kept"), "from before");
}

TEST_F(PerformerSlots, a_disposable_directory_is_removed_whole) {
  attempt_.slot.reset();
  attempt_.policy.workspace = domain::WorkspaceKind::ephemeral;
  attempt_.runtime = root() + "/0a1b2c3d0000";
  cache_.breaks = true;
  EXPECT_TRUE(is<Failed>(materialize()));
  fs::create_directory(attempt_.runtime + "/_work");
  ASSERT_TRUE(is<Scrubbed>(scrub()));
  EXPECT_TRUE(fs::is_empty(root()));
}

TEST_F(PerformerSlots, one_that_was_refused_is_never_scrubbed) {
  keep("from before");
  std::ofstream(slot() + "/the-operators") << "kept";
  EXPECT_EQ(refusal(materialize()), SlotRefusal::slot_still_holds_runner_state);
  // Whatever the attempt ends as: also if the refusal never reached its row.
  ASSERT_TRUE(is<Scrubbed>(scrub()));
  EXPECT_EQ(content(slot() + "/the-operators"), "kept");
  EXPECT_EQ(content(slot() + "/_work/kept"), "from before");
}

TEST_F(PerformerSlots, one_whose_row_contradicts_itself_or_its_policy_is_not_touched) {
  ASSERT_TRUE(is<Materialized>(materialize()));
  domain::Policy moved = attempt_.policy;
  moved.root = directory_ / "elsewhere";
  EXPECT_EQ(refusal(scrub(&moved)), SlotRefusal::slot_root_disagrees_with_policy);
  attempt_.slot = 2;
  EXPECT_EQ(refusal(scrub()), SlotRefusal::slot_path_is_not_the_journalled_slot);
  EXPECT_TRUE(fs::exists(slot() + "/run.sh"));
  attempt_.slot = 1;
  domain::Policy ephemeral = attempt_.policy;
  ephemeral.workspace = domain::WorkspaceKind::ephemeral;
  EXPECT_TRUE(is<Scrubbed>(scrub(&ephemeral))) << "a policy that became ephemeral does not prevent it";
}

TEST_F(PerformerSlots, a_policy_that_is_gone_does_not_prevent_cleaning) {
  ASSERT_TRUE(is<Materialized>(materialize()));
  ASSERT_TRUE(is<Scrubbed>(scrub(nullptr)));
  EXPECT_TRUE(entries().empty());
}

TEST_F(PerformerSlots, a_root_that_went_away_has_nothing_left_to_clean) {
  ASSERT_TRUE(is<Materialized>(materialize()));
  attempt_.times.materialized = domain::Instant{};
  fs::remove_all(root());
  EXPECT_TRUE(is<Scrubbed>(scrub()));
}

TEST_F(PerformerSlots, a_mark_that_a_job_removed_does_not_keep_its_files) {
  ASSERT_TRUE(is<Materialized>(materialize()));
  attempt_.times.materialized = domain::Instant{};
  fs::remove(root() + "/.runner-manager-s1");
  ASSERT_TRUE(is<Scrubbed>(scrub()));
  EXPECT_TRUE(entries().empty());
}

}  // namespace
