// What keeps a tree from the machine, with real processes under accounts of their own and the machine's own
// cgroups.
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "support/accounts.hpp"
#include "unit/process/fixture.hpp"

namespace agent::process::testing {
namespace {

namespace fs = std::filesystem;

class ContainmentTest : public ProcessTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make cgroups and mounts and change accounts";
    cgroups_ = own_cgroups("rmgr-test-" + std::to_string(::getpid()));
    ProcessTest::SetUp();
  }
  void TearDown() override {
    if (!host_) return;
    ProcessTest::TearDown();
    for (const std::string& place : {cgroups_.unified, cgroups_.cpu, cgroups_.memory, cgroups_.pids})
      EXPECT_FALSE(!place.empty() && exists(place + '/' + cgroups_.name)) << place;
  }

  // A shell of a job account.
  [[nodiscard]] Spec job(const std::string& script) const {
    Spec spec = shell("a", script);
    spec.uid = accounts_.first();
    spec.gid = accounts_.first();
    return spec;
  }
  std::string output(const Spec& spec) {
    wait_end("a", start(spec));
    return read_text(work_ + "/out");
  }
  // The first of the files, which one kind of hierarchy has and the other has not.
  [[nodiscard]] std::string limit(const std::string& legacy, const std::string& unified) const {
    const std::string text = read_text(legacy);
    return text.empty() ? read_text(cgroups_.unified + '/' + cgroups_.name + "/a/job/" + unified) : text;
  }
  [[nodiscard]] std::string group(const std::string& place, const std::string& file) const {
    return place + '/' + cgroups_.name + "/a/" + file;
  }

  const testkit::AccountRange accounts_;
};

TEST_F(ContainmentTest, AForkBombMeetsTheLimitOfProcessesAndNothingOfItIsLeft) {
  ASSERT_TRUE(host_->abilities().limit_pids) << "no cgroup controller for pids is writable";
  // Detached, so that only the group holds them together.
  Spec spec = job("trap '' TERM; i=0; while [ $i -lt 200 ]; do setsid sleep 300 & i=$((i+1)); done; exit 0");
  spec.limits.pids = 12;
  const ProcessIdentity identity = hold(spec);
  EXPECT_EQ(limit(group(cgroups_.pids, "pids.max"), "pids.max"), "12\n");
  ASSERT_TRUE(release("a", identity).ok());
  const State end = wait_end("a", identity);
  EXPECT_NE(end.exit_code, 0);  // the shell could not fork any more
  EXPECT_FALSE(end.out_of_memory);
  ASSERT_TRUE(host_->forget("a").ok());
  EXPECT_FALSE(exists(group(cgroups_.pids, "")));
}

TEST_F(ContainmentTest, WhoTakesTooMuchMemoryIsEndedAndReportedAndTheShimLives) {
  ASSERT_TRUE(host_->abilities().limit_memory) << "no cgroup controller for memory is writable";
  Spec spec = job("x=$(head -c 300000000 /dev/zero | tr '\\0' a); echo \"${#x}\" > out");
  spec.limits.memory_bytes = 64 << 20U;
  const ProcessIdentity identity = start(spec);
  const State end = wait_end("a", identity);
  EXPECT_EQ(end.phase, Phase::exited);
  EXPECT_TRUE(end.out_of_memory);
  EXPECT_FALSE(exists(work_ + "/out"));
  ASSERT_TRUE(host_->forget("a").ok());

  Spec modest = job("echo fine > out");
  modest.limits.memory_bytes = 64 << 20U;
  const State next = wait_end("a", start(modest));
  EXPECT_EQ(next.exit_code, 0);
  EXPECT_FALSE(next.out_of_memory);
}

TEST_F(ContainmentTest, TheShareOfTheProcessorsIsWrittenAndTheShimHasNone) {
  ASSERT_TRUE(host_->abilities().limit_cpu) << "no cgroup controller for cpu is writable";
  Spec spec = job("cat /proc/self/cgroup > out; cat /proc/$PPID/cgroup > shim");
  spec.limits.cpu_milli = 500;
  const ProcessIdentity identity = hold(spec);
  const std::string quota = limit(group(cgroups_.cpu, "cpu.cfs_quota_us"), "cpu.max");
  EXPECT_TRUE(quota == "50000\n" || quota == "50000 100000\n") << quota;
  ASSERT_TRUE(release("a", identity).ok());
  wait_end("a", identity);
  const std::string ours = '/' + cgroups_.name + "/a\n";
  if (exists(group(cgroups_.cpu, ""))) {
    EXPECT_NE(read_text(work_ + "/out").find(ours), std::string::npos);
    EXPECT_EQ(read_text(work_ + "/shim").find(ours), std::string::npos);
  }
}

TEST_F(ContainmentTest, ALimitThatNothingHereEnforcesRefusesTheProcess) {
  cgroups_ = {};
  host_ = make_host();
  EXPECT_FALSE(host_->abilities().limit_pids);
  Spec spec = job("touch ran");
  spec.limits.pids = 5;
  const auto held = host_->spawn_held(spec);
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().code, ErrorCode::unsupported);
}

TEST_F(ContainmentTest, TheNiceLevelIsThatOfTheJobAlone) {
  Spec spec = job("nice > out; cut -d' ' -f19 /proc/$PPID/stat >> out");
  spec.nice = ::getpriority(PRIO_PROCESS, 0) + 4;
  EXPECT_EQ(output(spec), std::to_string(spec.nice) + '\n' + std::to_string(spec.nice - 4) + '\n');
}

TEST_F(ContainmentTest, ResourceLimitsAreLoweredAndNeverRaised) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  Spec spec = job("{ ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hc; ulimit -s; } > out");
  spec.resource_limits = {{"open_files", 40}, {"core", 0}, {"stack", 1 << 20U}};
  EXPECT_EQ(output(spec), "40\n40\n0\n0\n1024\n");
  ASSERT_TRUE(host_->forget("a").ok());
  spec = job("{ ulimit -n; ulimit -Hn; } > out");
  spec.resource_limits = {{"open_files", 1'000'000'000'000}};
  const std::string hard = std::to_string(files.rlim_max) + '\n';
  EXPECT_EQ(output(spec), hard + hard);
}

TEST_F(ContainmentTest, AHiddenDirectoryIsEmptyAndClosedAndStaysSo) {
  const std::string secret = directory_.path() + "/secret";
  fs::create_directory(secret);
  ::chmod(secret.c_str(), 0755);
  write_text(secret + "/file", "needle\n");
  Spec spec = job("cat " + secret + "/file > seen; ls " + secret + " > listed; umount " + secret +
                  " && echo gone >> out; unshare -m umount " + secret +
                  " && echo gone >> out; mount -t tmpfs none " + work_ + " && echo mounted >> out; cat " +
                  secret + "/file >> seen; mkdir " + secret + "/new && echo made >> out; echo end >> out");
  EXPECT_EQ(output(spec).find("gone"), std::string::npos);
  EXPECT_EQ(read_text(work_ + "/seen"), "needle\nneedle\n");  // as long as nobody hides it
  fs::remove(work_ + "/out");
  fs::remove(work_ + "/seen");
  ASSERT_TRUE(host_->forget("a").ok());

  spec.hidden_directories = {secret, directory_.path() + "/missing"};
  EXPECT_EQ(output(spec), "end\n");
  EXPECT_EQ(read_text(work_ + "/seen"), "");
  EXPECT_EQ(read_text(work_ + "/listed"), "");
  EXPECT_EQ(read_text(secret + "/file"), "needle\n");  // for the machine nothing changed
}

TEST_F(ContainmentTest, WhatCannotBeHiddenIsNotStarted) {
  fs::create_symlink("/etc", directory_.path() + "/link");
  Spec spec = job("touch ran");
  spec.hidden_directories = {directory_.path() + "/link"};
  const auto released = release("a", hold(spec));
  ASSERT_FALSE(released.ok());
  EXPECT_EQ(released.error().code, ErrorCode::invalid);
  EXPECT_NE(released.error().message.find(directory_.path() + "/link could not be hidden"), std::string::npos)
      << released.error().message;
  EXPECT_FALSE(exists(work_ + "/ran"));
}

TEST_F(ContainmentTest, APrivateDirectoryIsSeenByNobodyElse) {
  const std::string shared = directory_.path() + "/shared";
  const std::string own = directory_.path() + "/own";
  for (const std::string& each : {shared, own}) {
    fs::create_directory(each);
    ::chmod(each.c_str(), 01777);
  }
  write_text(shared + "/of-the-machine", "x");
  const std::string name = "rmgr-test-" + std::to_string(::getpid());
  Spec spec =
      job("ls " + shared + " > listed; echo squatted > " + shared + "/name; echo squatted > /dev/shm/" +
          name + "; cat " + shared + "/name /dev/shm/" + name + " > out");
  spec.private_directories = {{shared, own}, {"/dev/shm", ""}};
  EXPECT_EQ(output(spec), "squatted\nsquatted\n");
  EXPECT_EQ(read_text(work_ + "/listed"), "");
  EXPECT_TRUE(exists(own + "/name"));
  EXPECT_FALSE(exists(shared + "/name"));
  EXPECT_FALSE(exists("/dev/shm/" + name));

  ASSERT_TRUE(host_->forget("a").ok());
  spec.private_directories = {{shared, directory_.path() + "/nothing"}};
  const auto released = release("a", hold(spec));
  ASSERT_FALSE(released.ok());
  EXPECT_NE(released.error().message.find("could not be made private"), std::string::npos);
}

TEST_F(ContainmentTest, NewPrivilegesAreGivenUpOnlyIfAsked) {
  Spec spec = job("grep NoNewPrivs /proc/self/status > out");
  EXPECT_EQ(output(spec), "NoNewPrivs:\t0\n");
  ASSERT_TRUE(host_->forget("a").ok());
  spec.no_new_privileges = true;
  EXPECT_EQ(output(spec), "NoNewPrivs:\t1\n");
}

TEST_F(ContainmentTest, AJobReachesItsShimInNoWay) {
  Spec spec =
      job("for n in KILL STOP USR1 TERM; do kill -$n $PPID && echo $n >> out; done; "
          "for f in mem environ maps; do cat /proc/$PPID/$f > /dev/null && echo $f >> out; done; "
          "ls /proc/$PPID/fd /proc/$PPID/root/ && echo fd >> out; echo end >> out; exit 3");
  const ProcessIdentity identity = start(spec);
  // From outside of the tree, as the same account.
  const pid_t intruder = ::fork();
  if (intruder == 0) {
    const bool became = ::setresgid(*spec.gid, *spec.gid, *spec.gid) == 0 &&
                        ::setresuid(*spec.uid, *spec.uid, *spec.uid) == 0;
    const bool refused = ::ptrace(PTRACE_SEIZE, static_cast<pid_t>(identity.pid), nullptr, nullptr) != 0;
    // Its number may be free by now: the job ends by itself.
    ::_exit(became && refused && (errno == EPERM || errno == ESRCH) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(intruder, &status, 0), intruder);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(wait_end("a", identity).exit_code, 3);
  EXPECT_EQ(read_text(work_ + "/out"), "end\n");
}

TEST_F(ContainmentTest, WhatIsWronglyAskedForIsRefusedBeforeAnythingIsMade) {
  const auto refused = [this](const std::function<void(Spec&)>& change) {
    Spec spec = job("touch ran");
    change(spec);
    const auto held = host_->spawn_held(spec);
    return !held && held.error().code == ErrorCode::invalid;
  };
  EXPECT_TRUE(refused([](Spec& spec) { spec.limits.cpu_milli = 9; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.limits.cpu_milli = -1; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.limits.memory_bytes = 4096; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.limits.pids = -1; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.nice = 20; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.resource_limits = {{"files", 1}}; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.resource_limits.assign(17, {"core", 0}); }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.hidden_directories = {"relative"}; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.hidden_directories = {std::string("/a\0b", 4)}; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.hidden_directories.assign(65, "/x"); }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.private_directories = {{"tmp", ""}}; }));
  EXPECT_TRUE(refused([](Spec& spec) { spec.private_directories = {{"/tmp", "x"}}; }));
  EXPECT_TRUE(fs::is_empty(directory_.path() + "/records"));
}

}  // namespace
}  // namespace agent::process::testing
