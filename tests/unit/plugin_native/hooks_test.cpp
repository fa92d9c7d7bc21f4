// The hooks with real supervisors and real programs.
#include "native/hooks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "native/hook_file.hpp"
#include "process/process.hpp"
#include "unit/plugin_native/fakes.hpp"

namespace native {
namespace {

namespace fs = std::filesystem;
using rmgr::Status;
using ::testing::HasSubstr;
using testing::status_of;

class HooksTest : public ::testing::Test {
 protected:
  void SetUp() override { use_new_host(); }

  // As a restarted agent would: nothing is known but what is durable.
  void use_new_host() {
    processes_.reset();
    auto made = agent::process::ProcessHost::create(
        {.shim = std::string(RMGR_BIN_DIR) + "/rmgr-shim", .record_directory = records_, .cgroups = {}}, {});
    ASSERT_TRUE(made.ok()) << made.error().message;
    processes_ = std::move(*made);
    host_.use(*processes_);
    hooks_.emplace(host_.view());
  }

  // A hook that notes its name and does `rest`.
  HookCommand hook(const std::string& name, const std::string& rest = "", int seconds = 60) {
    const std::string path = directory_.path() + '/' + name;
    testing::write_text(
        path, "#!/bin/sh\necho " + name + " $RUNNER_MANAGER_HOOK >> " + notes_ + "\n" + rest + "\n", 0755);
    return {{path}, std::chrono::seconds(seconds)};
  }

  [[nodiscard]] std::string notes() const { return testing::read_text(notes_); }
  [[nodiscard]] pid_t pid_in(const std::string& name) const {
    pid_t pid = 0;
    EXPECT_TRUE(testing::eventually([&] {
      pid = std::atoi(testing::read_text(directory_.path() + '/' + name).c_str());
      return pid > 0;
    }));
    return pid;
  }
  static bool alive(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    return std::getline(stat, line) && line.find(") Z ") == std::string::npos;
  }
  // As the agent does until nothing is left to wait for.
  void after_to_its_end(const HookSettings& settings) {
    ASSERT_TRUE(testing::eventually(
        [&] { return status_of([&] { hooks_->after(call_.view(), settings, subject_); }) == Status::ok; }));
  }

  testing::Directory directory_;
  const std::string records_ = directory_.path() + "/records";
  const std::string notes_ = directory_.path() + "/notes";
  testing::FakeHost host_;
  testing::Call call_;
  std::unique_ptr<agent::process::ProcessHost> processes_;
  std::optional<Hooks> hooks_;
  const HookSubject subject_{"attempt-1", "linux", "runner-1", "/run/time", "job-1"};
};

TEST_F(HooksTest, EachRunsOnceAroundAnAttemptAndLeavesNoRecord) {
  const HookSettings settings{hook("b"), hook("a")};
  hooks_->before(call_.view(), settings, subject_);
  hooks_->before(call_.view(), settings, subject_);
  EXPECT_EQ(notes(), "b before\n");
  after_to_its_end(settings);
  after_to_its_end(settings);
  EXPECT_EQ(notes(), "b before\na after\n");
  hooks_->forget(subject_.attempt);
  EXPECT_TRUE(host_.kv.empty());
  EXPECT_TRUE(fs::is_empty(records_));
  EXPECT_EQ(hooks_->note("linux"), "");
}

TEST_F(HooksTest, OneAloneIsEnough) {
  hooks_->before(call_.view(), {{}, hook("a")}, subject_);
  after_to_its_end({{}, hook("a")});
  EXPECT_EQ(notes(), "a after\n");
  hooks_->forget(subject_.attempt);
  HookSubject other = subject_;
  other.attempt = "attempt-2";
  hooks_->before(call_.view(), {hook("b"), {}}, other);
  hooks_->after(call_.view(), {hook("b"), {}}, other);
  EXPECT_EQ(notes(), "a after\nb before\n");
}

TEST_F(HooksTest, AfterRunsOnlyForAnAttemptWhosePreparationBegan) {
  after_to_its_end({hook("b"), hook("a")});
  EXPECT_EQ(notes(), "");
  EXPECT_TRUE(host_.kv.empty());
}

TEST_F(HooksTest, TheEnvironmentIsItsOwn) {
  ASSERT_EQ(::setenv("RMGR_TEST_OWN", "must not travel", 1), 0);
  hooks_->before(call_.view(), {hook("b", "pwd >> " + notes_ + "; env -u PWD -u _ | sort >> " + notes_), {}},
                 subject_);
  ::unsetenv("RMGR_TEST_OWN");
  EXPECT_EQ(
      notes(),
      "b before\n/\nLANG=C.UTF-8\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
      "RUNNER_MANAGER_ACCOUNT=job-1\nRUNNER_MANAGER_ATTEMPT=attempt-1\nRUNNER_MANAGER_HOOK=before\n"
      "RUNNER_MANAGER_POLICY=linux\nRUNNER_MANAGER_RUNNER=runner-1\nRUNNER_MANAGER_RUNTIME=/run/time\n");
}

TEST_F(HooksTest, AFailureBeforeIsThatOfTheLaunchAndCanBeTriedAgain) {
  std::string message;
  EXPECT_EQ(status_of(
                [&] {
                  hooks_->before(call_.view(), {hook("b", "exit 7"), {}}, subject_);
                },
                &message),
            Status::retry);
  EXPECT_THAT(message, HasSubstr("/b) ended with 7"));
  EXPECT_THAT(hooks_->note("linux"), HasSubstr("ended with 7"));
  EXPECT_EQ(hooks_->note("other"), "");
  hooks_->before(call_.view(), {hook("b"), {}}, subject_);
  EXPECT_EQ(notes(), "b before\nb before\n");
  EXPECT_EQ(hooks_->note("linux"), "");
}

TEST_F(HooksTest, AFailureBeforeStillOwesTheHookAfter) {
  const HookSettings settings{hook("b", "exit 7"), hook("a")};
  EXPECT_EQ(status_of([&] { hooks_->before(call_.view(), settings, subject_); }), Status::retry);
  after_to_its_end(settings);
  EXPECT_EQ(notes(), "b before\na after\n");
}

TEST_F(HooksTest, OneThatHangsBeforeIsEndedWithAllThatItStarted) {
  std::string message;
  const HookSettings settings{
      hook("b", "setsid sleep 300 & echo $! > " + directory_.path() + "/pid; sleep 300", 1), {}};
  EXPECT_EQ(status_of([&] { hooks_->before(call_.view(), settings, subject_); }, &message), Status::retry);
  EXPECT_THAT(message, HasSubstr("takes longer than its 1 s"));
  EXPECT_FALSE(alive(pid_in("pid")));
}

TEST_F(HooksTest, WhatAHookLeavesBehindEndsWithIt) {
  hooks_->before(
      call_.view(),
      {hook("b", "setsid sh -c 'echo $$ > " + directory_.path() + "/pid; exec sleep 300' & while [ ! -s " +
                     directory_.path() + "/pid ]; do sleep 0.01; done"),
       {}},
      subject_);
  EXPECT_FALSE(alive(pid_in("pid")));
}

TEST_F(HooksTest, AfterIsAskedForAgainWhileItRunsAndNeverRunsTwiceAtOnce) {
  const std::string go = directory_.path() + "/go";
  const HookSettings settings{
      {}, hook("a", "while [ ! -e " + go + " ]; do sleep 0.02; done; echo end >> " + notes_)};
  hooks_->before(call_.view(), settings, subject_);
  std::string message;
  EXPECT_EQ(status_of([&] { hooks_->after(call_.view(), settings, subject_); }, &message), Status::retry);
  EXPECT_THAT(message, HasSubstr("still runs"));
  EXPECT_EQ(status_of([&] { hooks_->after(call_.view(), settings, subject_); }), Status::retry);
  // Another agent takes over.
  use_new_host();
  EXPECT_EQ(status_of([&] { hooks_->after(call_.view(), settings, subject_); }), Status::retry);
  testing::write_text(go, "");
  after_to_its_end(settings);
  EXPECT_EQ(notes(), "a after\nend\n");
}

TEST_F(HooksTest, AfterThatEndedWhileNoAgentRanIsNotRunAgain) {
  const std::string go = directory_.path() + "/go";
  const HookSettings settings{{}, hook("a", "while [ ! -e " + go + " ]; do sleep 0.02; done; exit 3")};
  hooks_->before(call_.view(), settings, subject_);
  EXPECT_EQ(status_of([&] { hooks_->after(call_.view(), settings, subject_); }), Status::retry);
  processes_.reset();
  testing::write_text(go, "");
  ASSERT_TRUE(testing::eventually([&] { return fs::exists(records_ + "/attempt-1-after/exit"); }));
  use_new_host();
  after_to_its_end(settings);
  EXPECT_EQ(notes(), "a after\n");
  EXPECT_THAT(hooks_->note("linux"), HasSubstr("ended with 3"));
}

TEST_F(HooksTest, AfterThatWasHeldWhenItsAgentDiedRunsOnce) {
  const HookSettings settings{{}, hook("a")};
  hooks_->before(call_.view(), settings, subject_);
  host_.kv["hooks/attempt-1"] = "after 1 " + std::to_string(::getpid()) + " 1 another-boot";
  use_new_host();
  after_to_its_end(settings);
  EXPECT_EQ(notes(), "a after\n");
}

TEST_F(HooksTest, AfterWhoseSupervisorIsKilledIsBegunAgainButNotForEver) {
  const HookSettings settings{{}, hook("a", "sleep 1; kill -9 $PPID; exec sleep 300", 60)};
  hooks_->before(call_.view(), settings, subject_);
  for (int run = 1; run <= 3; ++run) {
    // The supervisor is gone, so nobody ends the hook but who looks after it.
    EXPECT_EQ(status_of([&] { hooks_->after(call_.view(), settings, subject_); }), Status::retry) << run;
    std::ifstream record(records_ + "/attempt-1-after/child");
    std::string word;
    for (long long value = 0; record >> word;) {
      if (word == "pid" && record >> value) ::kill(static_cast<pid_t>(value), SIGKILL);
    }
  }
  after_to_its_end(settings);
  EXPECT_EQ(notes(), "a after\na after\na after\n");
  EXPECT_THAT(hooks_->note("linux"), HasSubstr("never seen to end"));
}

TEST_F(HooksTest, NoFailureAfterwardsKeepsTheAttempt) {
  HookCommand unusable = hook("shared");
  ASSERT_EQ(::chmod(unusable.command.front().c_str(), 0777), 0);
  HookCommand nonsense = hook("nonsense");
  testing::write_text(nonsense.command.front(), "#!/no/such/interpreter\n", 0755);
  const struct {
    HookCommand after;
    const char* note;
  } cases[] = {{hook("fails", "exit 9"), "ended with 9"},
               {hook("hangs", "sleep 300", 1), "takes longer than its 1 s"},
               {unusable, "can be changed by others"},
               {nonsense, "could not be started"},
               {{{directory_.path() + "/gone"}, std::chrono::seconds(1)}, "cannot be found"}};
  int number = 0;
  for (const auto& each : cases) {
    const std::string attempt = "attempt-" + std::to_string(++number);
    HookSubject subject = subject_;
    subject.attempt = attempt;
    hooks_->before(call_.view(), {{}, each.after}, subject);
    ASSERT_TRUE(testing::eventually([&] {
      return status_of([&] { hooks_->after(call_.view(), {{}, each.after}, subject); }) == Status::ok;
    })) << each.note;
    EXPECT_THAT(hooks_->note("linux"), HasSubstr(each.note));
    hooks_->forget(attempt);
  }
  EXPECT_TRUE(host_.kv.empty());
  EXPECT_TRUE(fs::is_empty(records_));
}

TEST_F(HooksTest, AFullDiskDoesNotKeepTheAttempt) {
  const HookSettings settings{{}, hook("a")};
  hooks_->before(call_.view(), settings, subject_);
  host_.refuse_put = RMGR_E_RETRY;
  EXPECT_EQ(status_of([&] { hooks_->after(call_.view(), settings, subject_); }), Status::retry);
  EXPECT_EQ(status_of([&] { hooks_->after(call_.view(), settings, subject_); }), Status::retry);
  EXPECT_EQ(status_of([&] { hooks_->after(call_.view(), settings, subject_); }), Status::ok);
  EXPECT_EQ(notes(), "") << "what cannot be recorded is not run";
  hooks_->forget(subject_.attempt);
  EXPECT_TRUE(host_.kv.empty());
  EXPECT_TRUE(fs::is_empty(records_));
}

TEST_F(HooksTest, BeforeThatStillRunsWhenItsAgentDiedIsEnded) {
  HookSettings settings{hook("b", "echo $$ > " + directory_.path() + "/pid; exec sleep 300"), hook("a")};
  settings.before->timeout = std::chrono::seconds(2);
  EXPECT_EQ(status_of([&] { hooks_->before(call_.view(), settings, subject_); }), Status::retry);
  // As if the agent had died in the middle: a longer one is at work and on record.
  settings.before->timeout = std::chrono::seconds(60);
  std::thread dying([&] { status_of([&] { hooks_->before(call_.view(), settings, subject_); }); });
  const pid_t first = pid_in("pid");
  ASSERT_TRUE(testing::eventually([&] { return pid_in("pid") != first; }));
  Hooks next(host_.view());
  ASSERT_TRUE(testing::eventually(
      [&] { return status_of([&] { next.after(call_.view(), settings, subject_); }) == Status::ok; }));
  EXPECT_FALSE(alive(pid_in("pid")));
  dying.join();
  EXPECT_EQ(notes(), "b before\nb before\na after\n");
}

TEST(HookFile, OthersMustNotBeAbleToChangeOrReplaceIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of others";
  testing::Directory directory;
  const std::string base = directory.path();
  fs::create_directories(base + "/open/inner");
  fs::create_directories(base + "/foreign/inner");
  const auto program = [](const std::string& path, unsigned mode) {
    testing::write_text(path, "#!/bin/sh\n", mode);
    return path;
  };
  const std::string group = program(base + "/group", 0775);
  const std::string everybody = program(base + "/everybody", 0757);
  const std::string data = program(base + "/data", 0644);
  const std::string foreign = program(base + "/foreign-file", 0755);
  const std::string below_open = program(base + "/open/inner/hook", 0755);
  const std::string below_foreign = program(base + "/foreign/inner/hook", 0755);
  ASSERT_EQ(::chmod((base + "/open").c_str(), 0777), 0);
  ASSERT_EQ(::chown((base + "/foreign").c_str(), 1234, 1234), 0);
  ASSERT_EQ(::chown(foreign.c_str(), 1234, 1234), 0);
  ASSERT_EQ(::mkfifo((base + "/fifo").c_str(), 0755), 0);
  const std::string good = program(base + "/good", 0755);
  fs::create_symlink(good, base + "/link");
  fs::create_directory_symlink(base, base + "/way");
  const struct {
    std::string path, says;
  } cases[] = {{group, "can be changed by others"},
               {everybody, "can be changed by others"},
               {foreign, "can be changed by others"},
               {data, "is not executable"},
               {below_open, "who can write its directory " + base + "/open"},
               {below_foreign, "who can write its directory " + base + "/foreign"},
               {base + "/fifo", "is not a regular file"},
               {base + "/inner", "cannot be found"},
               {base + "/good/x", "cannot be found"},
               {base + "/link", "symbolic link " + base + "/link"},
               {base + "/way/good", "symbolic link " + base + "/way"},
               {base + "/../" + base, "'..' part"},
               {base + "/", "'..' part"},
               {base, "is not a regular file"},
               {"/", "'..' part"},
               {"good", "no absolute path"},
               {"", "no absolute path"}};
  for (const auto& each : cases) {
    std::string message;
    EXPECT_EQ(status_of([&] { check_hook_file(each.path); }, &message), Status::invalid) << each.path;
    EXPECT_THAT(message, HasSubstr(each.says)) << each.path;
  }
  EXPECT_EQ(status_of([&] { check_hook_file(good); }), Status::ok);
  // A sticky directory that everybody can write lets nobody replace what root put there.
  ASSERT_EQ(::chmod((base + "/open").c_str(), 01777), 0);
  EXPECT_EQ(status_of([&] { check_hook_file(below_open); }), Status::ok);
}

}  // namespace
}  // namespace native
