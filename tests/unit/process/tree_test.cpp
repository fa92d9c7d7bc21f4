#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "process/identity.hpp"
#include "unit/process/fixture.hpp"

namespace agent::process::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Containment, TreeTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "cgroup" : "session"; });

// Leaves a daemon behind that has its own session and no parent of ours; its number is in daemon.pid.
constexpr const char* daemonize =
    "setsid sh -c 'setsid sh -c \"echo \\$\\$ > daemon.pid; exec sleep 300\" & exit 0' & "
    "while [ ! -s daemon.pid ]; do sleep 0.01; done; ";

TEST_P(TreeTest, ExitCodesAndSignalsAreRecorded) {
  EXPECT_EQ(run("zero", "exit 0").exit_code, 0);
  EXPECT_EQ(run("code", "exit 100").exit_code, 100);
  EXPECT_EQ(run("top", "exit 255").exit_code, 255);
  for (const int number : {SIGKILL, SIGSEGV, SIGTERM}) {
    const State end = run("s" + std::to_string(number), "kill -" + std::to_string(number) + " $$");
    EXPECT_EQ(end.phase, Phase::exited);
    EXPECT_EQ(end.signal, number);
    EXPECT_FALSE(end.out_of_memory);
  }
}

TEST_P(TreeTest, ADaemonLeftBehindEndsWithTheMainChild) {
  const State end = run("a", std::string(daemonize) + "exit 4");
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_FALSE(alive(read_pid(work_ + "/daemon.pid")));
}

TEST_P(TreeTest, StopAsksFirstAndTheAnswerIsKept) {
  const ProcessIdentity identity = start(
      shell("a", std::string(daemonize) + "trap 'exit 9' TERM; echo $$ > pid; while :; do sleep 0.05; done"));
  read_pid(work_ + "/pid");
  ASSERT_TRUE(host_->stop("a", identity, Millis(20'000), {}).ok());
  EXPECT_FALSE(alive(read_pid(work_ + "/daemon.pid")));
  const auto end = host_->inspect("a", identity);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->phase, Phase::exited);
  EXPECT_EQ(end->exit_code, 9);
  EXPECT_TRUE(host_->stop("a", identity, Millis(0), {}).ok());
}

TEST_P(TreeTest, StopForcesWhatDoesNotListen) {
  const ProcessIdentity identity =
      start(shell("a", std::string(daemonize) + "trap '' TERM; (trap '' TERM; sleep 300) & echo $! > other; "
                                                "echo $$ > pid; while :; do sleep 0.05; done"));
  const std::int64_t main = read_pid(work_ + "/pid");
  ASSERT_TRUE(host_->stop("a", identity, Millis(100), {}).ok());
  EXPECT_FALSE(alive(main));
  EXPECT_FALSE(alive(read_pid(work_ + "/other")));
  EXPECT_FALSE(alive(read_pid(work_ + "/daemon.pid")));
  EXPECT_EQ(host_->inspect("a", identity)->signal, SIGKILL);
}

// No daemon is needed for it.
TEST_P(TreeTest, WhatIsOverItsTimeLimitEndsWithItsTree) {
  Spec spec =
      shell("a", std::string(daemonize) + "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done");
  spec.time_limit = Millis(1'000);
  const ProcessIdentity identity = start(spec);
  const std::int64_t left_behind = read_pid(work_ + "/daemon.pid");
  host_.reset();
  ASSERT_TRUE(eventually([&] { return !alive(identity.pid); }));
  EXPECT_FALSE(alive(left_behind));
  EXPECT_FALSE(alive(read_pid(work_ + "/pid")));
  host_ = make_host();
  const State end = wait_end("a", identity);
  EXPECT_EQ(end.phase, Phase::exited);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST_P(TreeTest, WhatEndsWithinItsTimeLimitIsLeftAlone) {
  Spec spec = shell("a", "sleep 0.2; exit 5");
  spec.time_limit = Millis(60'000);
  EXPECT_EQ(wait_end("a", start(spec)).exit_code, 5);
}

TEST_P(TreeTest, StopReachesAStoppedShimAndAStoppedChild) {
  const ProcessIdentity identity =
      start(shell("a", "echo $$ > pid; trap 'exit 6' TERM; while :; do sleep 0.05; done"));
  const std::int64_t main = read_pid(work_ + "/pid");
  ::kill(static_cast<pid_t>(main), SIGSTOP);
  ::kill(static_cast<pid_t>(identity.pid), SIGSTOP);
  ASSERT_TRUE(host_->stop("a", identity, Millis(20'000), {}).ok());
  EXPECT_EQ(host_->inspect("a", identity)->exit_code, 6);
}

TEST_P(TreeTest, ACancelledStopIsGivenUpAndCanBeRepeated) {
  const ProcessIdentity identity =
      start(shell("a", "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"));
  const std::int64_t main = read_pid(work_ + "/pid");
  auto stopped = host_->stop("a", identity, Millis(60'000), [] { return true; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_TRUE(alive(main));
  EXPECT_TRUE(host_->stop("a", identity, Millis(0), {}).ok());
  EXPECT_FALSE(alive(main));
}

TEST_P(TreeTest, AKilledShimLeavesNothingUnfound) {
  // The double-forked daemon is only findable through the cgroup; without one it shares the child's session
  // here.
  const std::string leave = GetParam() ? daemonize : "sleep 300 & echo $! > daemon.pid; ";
  const ProcessIdentity identity = start(shell("a", leave + "echo $$ > pid; sleep 300"));
  const std::int64_t main = read_pid(work_ + "/pid");
  ::kill(static_cast<pid_t>(identity.pid), SIGKILL);
  ASSERT_TRUE(eventually([&] { return exits("a") == 1; }));
  auto orphaned = host_->inspect("a", identity);
  ASSERT_TRUE(orphaned.ok());
  EXPECT_EQ(orphaned->phase, Phase::running);
  EXPECT_EQ(host_->forget("a").error().code, ErrorCode::busy);
  // Its end is still heard of, although its parent is a stranger now.
  ::kill(static_cast<pid_t>(main), SIGTERM);
  ASSERT_TRUE(eventually([&] { return exits("a") == 2; }));
  const State end = wait_end("a", identity);
  EXPECT_EQ(end.phase, Phase::exited);
  EXPECT_EQ(end.exit_code, -1);
  EXPECT_FALSE(alive(read_pid(work_ + "/daemon.pid")));
}

TEST_P(TreeTest, StopEndsTheTreeOfAKilledShim) {
  const std::string leave = GetParam() ? daemonize : "sleep 300 & echo $! > daemon.pid; ";
  const ProcessIdentity identity =
      start(shell("a", leave + "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"));
  const std::int64_t main = read_pid(work_ + "/pid");
  ::kill(static_cast<pid_t>(identity.pid), SIGKILL);
  ASSERT_TRUE(host_->stop("a", identity, Millis(100), {}).ok());
  EXPECT_FALSE(alive(main));
  EXPECT_FALSE(alive(read_pid(work_ + "/daemon.pid")));
  EXPECT_EQ(host_->inspect("a", identity)->exit_code, -1);
}

TEST_P(TreeTest, ForgetLeavesNoTrace) {
  const ProcessIdentity identity = start(shell("a", "exit 0"));
  wait_end("a", identity);
  ASSERT_TRUE(host_->forget("a").ok());
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/records"));
  EXPECT_TRUE(cgroups_.unified.empty() || !exists(cgroups_.unified + "/ours/a"));
}

TEST_P(TreeTest, ThirtyAtOnceAndNothingLeaks) {
  const std::size_t before = open_descriptors();
  std::vector<ProcessIdentity> identities(30);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < identities.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string key = "k" + std::to_string(i);
      auto identity = host_->spawn_held(
          shell(key, "ls -l /proc/self/fd > fd" + std::to_string(i) + "; exit " + std::to_string(i)));
      ASSERT_TRUE(identity.ok()) << identity.error().message;
      identities[i] = *identity;
      auto released = release(key, *identity);
      ASSERT_TRUE(released.ok()) << released.error().message;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (std::size_t i = 0; i < identities.size(); ++i) {
    const std::string key = "k" + std::to_string(i);
    EXPECT_EQ(wait_end(key, identities[i]).exit_code, static_cast<int>(i));
    const std::string fds = read_text(work_ + "/fd" + std::to_string(i));
    EXPECT_EQ(fds.find("socket:"), std::string::npos) << fds;
    EXPECT_EQ(fds.find("pipe:"), std::string::npos) << fds;
    EXPECT_TRUE(eventually([&] { return exits(key) == 1; }));
    EXPECT_TRUE(host_->forget(key).ok());
  }
  EXPECT_EQ(zombies(), 0U);
  EXPECT_EQ(open_descriptors(), before);
}

class IdentityTest : public ProcessTest {};

TEST_F(IdentityTest, ARecycledNumberIsGoneAndNeverSignalled) {
  const ProcessIdentity real = start(shell("a", "echo $$ > pid; sleep 300"));
  const std::int64_t main = read_pid(work_ + "/pid");
  ProcessIdentity other_start = real;
  other_start.start_token += 1;
  ProcessIdentity other_boot = real;
  other_boot.boot_id = domain::BootId("00000000-0000-0000-0000-000000000000");
  for (const ProcessIdentity& fake : {other_start, other_boot}) {
    EXPECT_EQ(host_->inspect("b", fake)->phase, Phase::missing);
    EXPECT_TRUE(host_->stop("b", fake, Millis(0), {}).ok());
    EXPECT_TRUE(alive(real.pid));
    EXPECT_TRUE(alive(main));
  }
  EXPECT_EQ(host_->inspect("a", real)->phase, Phase::running);
}

TEST_F(IdentityTest, AStrangerInTheChildsSessionNumberIsLeftAlone) {
  // A record whose pid now belongs to a younger process: its session and group are that process's own.
  const ProcessIdentity stranger = start(shell("a", "echo $$ > pid; sleep 300"));
  const std::int64_t main = read_pid(work_ + "/pid");
  const std::string records = directory_.path() + "/records/old";
  std::filesystem::create_directory(records);
  write_text(records + "/child", "rmgr-child 1\npid " + std::to_string(main) + "\nstart " +
                                     std::to_string(*start_token(main) - 1) + "\nuid " +
                                     std::to_string(::getuid()) + "\nboot " + current_boot()->str() + "\n");
  const ProcessIdentity gone{stranger.pid, stranger.start_token - 1, stranger.boot_id};
  EXPECT_EQ(host_->inspect("old", gone)->exit_code, -1);
  EXPECT_TRUE(host_->stop("old", gone, Millis(0), {}).ok());
  EXPECT_TRUE(alive(main));
  EXPECT_TRUE(host_->forget("old").ok());
}

TEST_F(IdentityTest, AnotherBootsRecordsSayHowItEnded) {
  const ProcessIdentity gone{::getpid(), *start_token(::getpid()), domain::BootId("another-boot")};
  const std::string records = directory_.path() + "/records/old";
  std::filesystem::create_directory(records);
  EXPECT_EQ(host_->inspect("old", gone)->phase, Phase::missing);
  write_text(records + "/child", "rmgr-child 1\npid " + std::to_string(::getpid()) + "\nstart " +
                                     std::to_string(gone.start_token) + "\nuid 0\nboot another-boot\n");
  EXPECT_EQ(host_->inspect("old", gone)->exit_code, -1);
  write_text(records + "/exit", "rmgr-exit 1\ncode 0\nsignal 0\noom 1\nran_ms 1\nended_ms 1\n");
  EXPECT_EQ(host_->inspect("old", gone)->phase, Phase::exited);
  EXPECT_TRUE(host_->inspect("old", gone)->out_of_memory);
  EXPECT_TRUE(host_->forget("old").ok());
}

TEST_F(IdentityTest, ADamagedRecordIsAnErrorAndNoEnd) {
  const std::string records = directory_.path() + "/records/old";
  std::filesystem::create_directory(records);
  write_text(records + "/exit", "garbage");
  auto state = host_->inspect("old", {});
  ASSERT_FALSE(state.ok());
  EXPECT_EQ(state.error().code, ErrorCode::corrupt);
  EXPECT_TRUE(host_->forget("old").ok());
}

TEST_F(IdentityTest, OutOfMemoryIsReadFromTheGroup) {
  // Where the unified hierarchy has no memory controller no real group can report it, so a directory of plain
  // files stands in for one.
  const std::string root = directory_.path() + "/group";
  for (const char* part : {"", "/ours", "/ours/a", "/ours/a/shim", "/ours/a/job"})
    std::filesystem::create_directory(root + part);
  for (const char* file :
       {"/cgroup.procs", "/ours/a/shim/cgroup.procs", "/ours/a/job/cgroup.procs", "/ours/a/job/cgroup.kill"})
    write_text(root + file, "");
  write_text(root + "/ours/a/cgroup.events", "populated 0\nfrozen 0\n");
  write_text(root + "/ours/a/job/memory.events",
             "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n");
  cgroups_ = {"ours", root, {}, {}, {}};
  host_ = make_host();
  const State end = wait_end("a", start(shell("a", "kill -9 $$")));
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_TRUE(end.out_of_memory);
  for (const char* part : {"/shim", "/job", ""})
    std::filesystem::remove_all(root + "/ours/a" + part);
}

}  // namespace
}  // namespace agent::process::testing
