#include "workspace/slot.hpp"

#include <atomic>
#include <thread>

#include "unit/workspace/scratch.hpp"
#include "workspace/slot_parts.hpp"

namespace {

using agent::domain::AttemptId;
using agent::domain::ErrorCode;
using agent::domain::Result;
using agent::domain::SlotRefusal;
using agent::workspace::fill_slot;
using agent::workspace::has_taken;
using agent::workspace::look_at_slot;
using agent::workspace::RemovalOptions;
using agent::workspace::Resolve;
using agent::workspace::scrub_slot;
using agent::workspace::Slot;
using agent::workspace::SlotOutcome;
using agent::workspace::take_slot;

const AttemptId kHolder("11111111-2222-4333-8444-555555555555");
const AttemptId kOther("99999999-2222-4333-8444-555555555555");

class SlotBy : public scratch::Workspace, public ::testing::WithParamInterface<Resolve> {
 protected:
  void SetUp() override {
    Workspace::SetUp();
    directory("root");
    directory("outside");
    file("outside/sentinel", "untouched");
  }
  void TearDown() override {
    EXPECT_EQ(content(at("outside/sentinel")), "untouched");
    Workspace::TearDown();
  }
  [[nodiscard]] Slot slot() const { return {.root = at("root"), .name = "s1"}; }
  [[nodiscard]] SlotOutcome look() const { return look_at_slot(slot(), GetParam()); }
  [[nodiscard]] SlotOutcome take() const { return take_slot(slot(), kHolder, GetParam()); }
  [[nodiscard]] SlotOutcome scrub(RemovalOptions options = {}) const {
    options.resolve = GetParam();
    return scrub_slot(slot(), options);
  }
  // A slot as it stands in the middle of a job.
  void use() const {
    ASSERT_FALSE(take());
    for (const char* name : {"bin", "externals", "_diag", "_home", "_temp", "_work", "_work/widgets"})
      directory(std::string("root/s1/") + name);
    for (const char* name : {"run.sh", "config.sh", ".runner", ".credentials", ".env", "_work/widgets/kept"})
      file(std::string("root/s1/") + name, "kept");
  }
  void expect_refused(const SlotOutcome& outcome, SlotRefusal refusal) const {
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(outcome->refusal) << outcome->error.message;
    EXPECT_EQ(*outcome->refusal, refusal) << outcome->error.message;
    EXPECT_EQ(outcome->error.message.rfind(agent::domain::to_string(refusal), 0), 0U);
  }
};

TEST_P(SlotBy, IsReusableIfItIsMissingEmptyOrHoldsOneRealWorkDirectoryAlone) {
  EXPECT_FALSE(look());
  directory("root/s1");
  EXPECT_FALSE(look());
  directory("root/s1/_work");
  file("root/s1/_work/anything");
  EXPECT_FALSE(look());
  file("root/s1/run.sh");
  expect_refused(look(), SlotRefusal::slot_still_holds_runner_state);
  expect_refused(take(), SlotRefusal::slot_still_holds_runner_state);
  EXPECT_EQ(mode_of(at("root/s1")), 0755U) << "what is refused is not changed";
  EXPECT_FALSE(*has_taken(slot(), kHolder));
}

TEST_P(SlotBy, ThatIsALinkOrWhoseWorkIsALinkIsRefused) {
  ASSERT_EQ(::symlink(at("outside").c_str(), at("root/s1").c_str()), 0);
  expect_refused(look(), SlotRefusal::slot_is_not_a_directory);
  expect_refused(take(), SlotRefusal::slot_is_not_a_directory);
  ASSERT_EQ(::unlink(at("root/s1").c_str()), 0);
  directory("root/s1");
  ASSERT_EQ(::symlink(at("outside").c_str(), at("root/s1/_work").c_str()), 0);
  expect_refused(look(), SlotRefusal::retained_work_is_not_a_directory);
  ASSERT_EQ(::unlink(at("root/s1/_work").c_str()), 0);
  file("root/s1/_work");
  expect_refused(look(), SlotRefusal::retained_work_is_not_a_directory);
  ASSERT_EQ(::unlink(at("root/s1/_work").c_str()), 0);
  ASSERT_EQ(::mkfifo(at("root/s1/_work").c_str(), 0600), 0);
  expect_refused(look(), SlotRefusal::retained_work_is_not_a_directory);
}

TEST_P(SlotBy, AFileInItsPlaceIsRefusedAndKept) {
  file("root/s1", "the operator's");
  expect_refused(look(), SlotRefusal::slot_is_not_a_directory);
  expect_refused(take(), SlotRefusal::slot_is_not_a_directory);
  expect_refused(scrub(), SlotRefusal::slot_is_not_a_directory);
  EXPECT_EQ(content(at("root/s1")), "the operator's");
}

TEST_P(SlotBy, BehindALinkOrUnderAMountEscapesItsRoot) {
  directory("real");
  ASSERT_EQ(::symlink("real", at("linked").c_str()), 0);
  const Slot behind{.root = at("linked"), .name = "s1"};
  expect_refused(look_at_slot(behind, GetParam()), SlotRefusal::slot_escapes_its_root);
  directory("root/s1");
  if (!mount("--bind", at("outside"), at("root/s1"))) GTEST_SKIP() << "this account cannot bind-mount";
  expect_refused(look(), SlotRefusal::slot_escapes_its_root);
  expect_refused(scrub(), SlotRefusal::slot_escapes_its_root);
}

TEST_P(SlotBy, IsTakenByOneAndClosedToOthers) {
  directory("root/s1", 0777);
  ASSERT_FALSE(take());
  EXPECT_EQ(mode_of(at("root/s1")), 0700U);
  EXPECT_TRUE(*has_taken(slot(), kHolder));
  EXPECT_FALSE(*has_taken(slot(), kOther));
}

TEST_P(SlotBy, IsFilledBesideWhatWasKeptAndNothingIsOverwrittenOrFollowed) {
  ASSERT_FALSE(take());
  directory("root/s1/_work");
  ASSERT_EQ(::symlink(at("outside").c_str(), at("root/s1/_work/bin").c_str()), 0);
  const auto fill = [this](const std::string& inside) -> Result<void> {
    EXPECT_EQ(inside.rfind(at("root/s1/"), 0), 0U);
    EXPECT_EQ(::mkdir((inside + "/bin").c_str(), 0755), 0);
    std::ofstream(inside + "/bin/Runner.Listener") << "listener";
    std::ofstream(inside + "/run.sh") << "run";
    EXPECT_EQ(::chmod((inside + "/bin").c_str(), 0555), 0);
    return {};
  };
  ASSERT_TRUE(fill_slot(slot(), fill, GetParam()).ok());
  EXPECT_EQ(content(at("root/s1/bin/Runner.Listener")), "listener");
  EXPECT_EQ(mode_of(at("root/s1/bin")), 0555U);
  EXPECT_EQ(content(at("root/s1/run.sh")), "run");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("root/s1")), {}), 3);
  EXPECT_FALSE(exists(at("outside/Runner.Listener")));
  file("root/s1/run.sh", "kept");
  EXPECT_FALSE(fill_slot(slot(), fill, GetParam()).ok());
  EXPECT_EQ(content(at("root/s1/run.sh")), "kept");
}

TEST_P(SlotBy, APackageWithAWorkDirectoryOfItsOwnIsRefused) {
  ASSERT_FALSE(take());
  directory("root/s1/_work");
  file("root/s1/_work/kept", "kept");
  const auto filled = fill_slot(
      slot(),
      [](const std::string& inside) -> Result<void> {
        EXPECT_EQ(::mkdir((inside + "/_work").c_str(), 0755), 0);
        std::ofstream(inside + "/_work/kept") << "replaced";
        return {};
      },
      GetParam());
  ASSERT_FALSE(filled.ok());
  EXPECT_EQ(filled.error().code, ErrorCode::invalid);
  EXPECT_EQ(content(at("root/s1/_work/kept")), "kept");
  ASSERT_FALSE(scrub());
  EXPECT_FALSE(look());
}

TEST_P(SlotBy, IsScrubbedOfEverythingButItsWork) {
  use();
  ASSERT_EQ(::symlink(at("outside").c_str(), at("root/s1/link").c_str()), 0);
  file(std::string("root/s1/_work.old"));
  file(std::string("root/s1/_WORK"));
  file("root/s1/new\nline");
  ASSERT_EQ(::mkfifo(at("root/s1/pipe").c_str(), 0600), 0);
  ASSERT_FALSE(scrub());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("root/s1")), {}), 1);
  EXPECT_EQ(content(at("root/s1/_work/widgets/kept")), "kept");
  EXPECT_FALSE(*has_taken(slot(), kHolder));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("root")), {}), 1) << "no mark is left";
  EXPECT_FALSE(look());
  EXPECT_FALSE(scrub()) << "again changes nothing";
}

TEST_P(SlotBy, ThatIsMissingIsClean) {
  EXPECT_FALSE(scrub());
  EXPECT_FALSE(scrub_slot({.root = at("nowhere"), .name = "s1"}));
  EXPECT_FALSE(exists(at("root/s1")));
}

TEST_P(SlotBy, AWorkThatAJobReplacedKeepsEverythingAndTheSlot) {
  use();
  std::filesystem::remove_all(at("root/s1/_work"));
  ASSERT_EQ(::symlink(at("outside").c_str(), at("root/s1/_work").c_str()), 0);
  expect_refused(scrub(), SlotRefusal::retained_work_is_not_a_directory);
  EXPECT_TRUE(exists(at("root/s1/run.sh"))) << "a refusal removes nothing";
  EXPECT_TRUE(*has_taken(slot(), kHolder));
  ASSERT_EQ(::unlink(at("root/s1/_work").c_str()), 0);
  EXPECT_FALSE(scrub()) << "mended";
}

TEST_P(SlotBy, AWorkThatIsAMountIsRefused) {
  use();
  if (!mount("--bind", at("outside"), at("root/s1/_work"))) GTEST_SKIP() << "this account cannot bind-mount";
  expect_refused(scrub(), SlotRefusal::retained_work_is_not_a_directory);
  EXPECT_TRUE(exists(at("root/s1/run.sh")));
  expect_refused(look(), SlotRefusal::retained_work_is_not_a_directory);
}

TEST_P(SlotBy, AMountBesideItsWorkCannotBeRemoved) {
  use();
  directory("root/s1/held-by-a-job");
  if (!mount("--bind", at("outside"), at("root/s1/held-by-a-job")))
    GTEST_SKIP() << "this account cannot bind-mount";
  const auto outcome = scrub();
  expect_refused(outcome, SlotRefusal::slot_entry_could_not_be_removed);
  EXPECT_EQ(outcome->error.message.find("held-by-a-job"), std::string::npos);
  EXPECT_TRUE(exists(at("root/s1/_work/widgets/kept")));
  unmount();
  EXPECT_FALSE(scrub());
}

TEST_P(SlotBy, OfAJobAccountIsTakenBackBeforeItIsLookedAt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has job accounts";
  use();
  give_to_stranger(at("root/s1"));
  ASSERT_EQ(::chmod(at("root/s1").c_str(), 0777), 0);
  ASSERT_EQ(::chmod(home_.c_str(), 0755), 0);
  ASSERT_FALSE(scrub());
  EXPECT_EQ(mode_of(at("root/s1")), 0700U);
  EXPECT_TRUE(as_stranger([&] { return ::access(at("root/s1/_work").c_str(), F_OK) != 0; }));
}

TEST_P(SlotBy, ThatItsJobClosedIsOpenedAgain) {
  use();
  ASSERT_EQ(::chmod(at("root/s1").c_str(), 0), 0);
  give_to_stranger(home_);
  EXPECT_TRUE(as_stranger([&] { return !scrub().has_value(); }));
  EXPECT_TRUE(exists(at("root/s1/_work/widgets/kept")));
}

TEST_P(SlotBy, SomebodyWhoGoesOnWritingKeepsIt) {
  use();
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !stop; ++i) {
      const int fd = ::open(at("root/s1/new" + std::to_string(i % 8)).c_str(), O_WRONLY | O_CREAT, 0644);
      if (fd >= 0) ::close(fd);
    }
  });
  for (int i = 0; i < 10; ++i) {
    const auto outcome = scrub();
    if (outcome) {
      EXPECT_TRUE(outcome->refusal == SlotRefusal::slot_still_holds_runner_state ||
                  outcome->refusal == SlotRefusal::slot_entry_could_not_be_removed)
          << outcome->error.message;
    }
  }
  stop = true;
  writer.join();
  EXPECT_FALSE(scrub());
  EXPECT_TRUE(exists(at("root/s1/_work/widgets/kept")));
}

TEST_P(SlotBy, AWorkThatIsSwappedWhileItIsScrubbedIsNeverFollowed) {
  for (int round = 0; round < 20; ++round) {
    use();
    ASSERT_EQ(::symlink(at("outside").c_str(), at("root/s1/flip").c_str()), 0);
    std::atomic<bool> stop{false};
    std::thread flipper([&] {
      const auto one = at("root/s1/_work");
      const auto two = at("root/s1/flip");
      while (!stop)
        ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(), RENAME_EXCHANGE);
    });
    (void)scrub();
    stop = true;
    flipper.join();
    EXPECT_EQ(content(at("outside/sentinel")), "untouched");
    std::filesystem::remove_all(at("root/s1"));
  }
}

INSTANTIATE_TEST_SUITE_P(EitherWay, SlotBy, ::testing::Values(Resolve::kernel, Resolve::portable),
                         [](const auto& param) {
                           return param.param == Resolve::kernel ? "kernel" : "portable";
                         });

}  // namespace
