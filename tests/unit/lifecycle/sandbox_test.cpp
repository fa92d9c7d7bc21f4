#include "lifecycle/sandbox.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace agent::lifecycle {
namespace {

using domain::EnvironmentId;
using domain::EnvironmentView;
using domain::Error;
using domain::ErrorCode;
using domain::Evidence;
using domain::Result;
using plugin::Call;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An engine with some sandboxes, which writes down what is done to them.
class FakeProvider final : public plugin::ExecutionProvider {
 public:
  std::vector<plugin::OwnedEnvironment> owned;
  EnvironmentView view = EnvironmentView::exited;
  bool stays = false;       // a removal that removes nothing
  bool unlistable = false;  // the list cannot be had
  bool unreadable = false;  // nor what it says of the job
  std::vector<std::string> lines;
  std::vector<std::string> done;

  [[nodiscard]] bool isolated() const override { return true; }
  [[nodiscard]] bool holds() const override { return false; }
  [[nodiscard]] bool warms() const override { return true; }
  Result<void> warm(Call&, const plugin::Allocation&) override {
    done.emplace_back("warm");
    return {};
  }
  Result<plugin::Probe> probe(Call&, const domain::Policy&) override { return plugin::Probe{}; }
  Result<std::string> resolve(Call&, const domain::Policy&) override { return std::string("i@sha256:1"); }
  Result<std::vector<plugin::OwnedEnvironment>> recover(Call&, const plugin::Allocation&) override {
    if (unlistable) return Error{ErrorCode::unreachable, "no list", {}};
    return owned;
  }
  Result<std::vector<plugin::OwnedEnvironment>> enumerate_owned(Call&,
                                                                const domain::InstallationId&) override {
    return owned;
  }
  bool owns(Call&, const plugin::Allocation&, const EnvironmentId& environment) override {
    return owned.size() == 1 && owned.front().environment == environment;
  }
  Result<std::vector<std::string>> diagnostics(Call&, const plugin::Allocation&) override {
    if (unreadable) return Error{ErrorCode::unreachable, "no answer", {}};
    return lines;
  }
  Result<std::optional<EnvironmentId>> prepare(Call&, const plugin::Allocation&) override {
    return std::optional<EnvironmentId>();
  }
  Result<domain::ProcessIdentity> hold(Call&, const plugin::Allocation&) override {
    return domain::ProcessIdentity{};
  }
  std::optional<plugin::StartFailure> start(Call&, const plugin::Allocation&, std::string_view) override {
    return std::nullopt;
  }
  Result<plugin::EnvironmentState> inspect(Call&, const plugin::Allocation&) override {
    plugin::EnvironmentState state;
    state.view = owned.empty() ? EnvironmentView::missing : view;
    return state;
  }
  Result<void> stop(Call&, const plugin::Allocation&, domain::Millis) override {
    done.emplace_back("stop");
    view = EnvironmentView::exited;
    return {};
  }
  Result<void> remove(Call&, const plugin::Allocation&) override {
    done.emplace_back("remove");
    if (!stays) owned.clear();
    return {};
  }
};

class Sandbox : public ::testing::Test {
 protected:
  Sandbox() {
    attempt_.id = domain::AttemptId("a");
    attempt_.generation = domain::Generation("g");
    attempt_.policy.profile.image = "i@sha256:1";
    attempt_.environment = EnvironmentId("e");
  }
  static plugin::OwnedEnvironment own() { return {"host", "a", "g", "i@sha256:1", EnvironmentId("e")}; }
  Performed destroying() {
    const plugin::Allocation allocation{
        .attempt = &attempt_, .host = domain::InstallationId("host"), .package = "/p"};
    return destroy_sandbox(call_, allocation, engine_);
  }
  EnvironmentLook looking() {
    const plugin::Allocation allocation{
        .attempt = &attempt_, .host = domain::InstallationId("host"), .package = "/p"};
    return look_at_sandbox(call_, allocation, engine_);
  }
  // Left alone, and said so.
  void expect_quarantined() {
    const Performed performed = destroying();
    const auto* failed = std::get_if<event::Failed>(&performed.body);
    ASSERT_NE(failed, nullptr);
    EXPECT_TRUE(failed->quarantined);
    EXPECT_THAT(engine_.done, IsEmpty());
  }

  domain::Attempt attempt_;
  FakeProvider engine_;
  Call call_{"test", std::chrono::steady_clock::now() + std::chrono::minutes(1)};
};

TEST_F(Sandbox, is_stopped_removed_and_proven_gone) {
  engine_.owned = {own()};
  engine_.view = EnvironmentView::running;
  EXPECT_TRUE(std::holds_alternative<event::Destroyed>(destroying().body));
  EXPECT_THAT(engine_.done, ElementsAre("stop", "remove"));
}

TEST_F(Sandbox, that_is_gone_is_removed_all_the_same_for_what_may_be_left_beside_it) {
  EXPECT_TRUE(std::holds_alternative<event::Destroyed>(destroying().body));
  EXPECT_THAT(engine_.done, ElementsAre("remove"));
}

TEST_F(Sandbox, is_put_on_record_before_it_is_touched) {
  attempt_.environment.reset();
  engine_.owned = {own()};
  const Performed performed = destroying();
  const auto* found = std::get_if<event::SandboxFound>(&performed.body);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->environment, EnvironmentId("e"));
  EXPECT_THAT(engine_.done, IsEmpty());
}

TEST_F(Sandbox, of_which_there_are_two_is_left_alone) {
  engine_.owned = {own(), own()};
  engine_.owned.back().environment = EnvironmentId("f");
  expect_quarantined();
}

TEST_F(Sandbox, with_another_identity_is_left_alone) {
  for (const auto& change : std::vector<void (*)(plugin::OwnedEnvironment&)>{
           [](plugin::OwnedEnvironment& one) { one.host = "other"; },
           [](plugin::OwnedEnvironment& one) { one.attempt = "other"; },
           [](plugin::OwnedEnvironment& one) { one.generation = "other"; },
           [](plugin::OwnedEnvironment& one) { one.image = "other"; },
           [](plugin::OwnedEnvironment& one) { one.environment = EnvironmentId("other"); }}) {
    engine_.owned = {own()};
    change(engine_.owned.front());
    expect_quarantined();
  }
}

TEST_F(Sandbox, a_list_that_fails_proves_no_absence) {
  engine_.unlistable = true;
  const Performed performed = destroying();
  const auto* failed = std::get_if<event::Failed>(&performed.body);
  ASSERT_NE(failed, nullptr);
  EXPECT_FALSE(failed->quarantined);
  EXPECT_THAT(engine_.done, IsEmpty());
}

TEST_F(Sandbox, that_stays_after_its_removal_is_not_destroyed) {
  engine_.owned = {own()};
  engine_.stays = true;
  EXPECT_TRUE(std::holds_alternative<event::Failed>(destroying().body));
}

TEST_F(Sandbox, says_itself_whether_a_job_ran) {
  engine_.owned = {own()};
  engine_.lines = {"engine docker", "job ran"};
  EXPECT_EQ(looking().evidence, Evidence::ran);
  engine_.lines = {"no job"};
  EXPECT_EQ(looking().evidence, Evidence::no_job);
  engine_.lines = {"engine docker"};
  EXPECT_EQ(looking().evidence, Evidence::unknown);
  EXPECT_EQ(looking().view, EnvironmentView::exited);
  engine_.unreadable = true;
  EXPECT_EQ(looking().view, EnvironmentView::unknown);
}

}  // namespace
}  // namespace agent::lifecycle
