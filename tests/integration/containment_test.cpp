// What a hostile job can do to the machine, the agent and the next job: real jobs under the machine's own
// cgroups.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "stage.hpp"
#include "support/elsewhere.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Containment : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make cgroups and mounts and change accounts";
  }

  // One job at a time; jobs leave what they found in `marks`.
  void raise(const std::string& more, std::vector<std::pair<std::string, std::string>> profile) {
    stage_.emplace(1, [&](testkit::AgentSetup& setup) {
      setup.provider_more = more;
      setup.policies.front().profile = std::move(profile);
    });
    fs::create_directory(stage_->path("marks"));
    fs::permissions(stage_->path("marks"), fs::perms(01777));
    ASSERT_TRUE(stage_->agent().start());
  }
  // Once its provider was asked.
  testkit::PolicyView policy() {
    std::vector<testkit::PolicyView> seen;
    EXPECT_TRUE(eventually([&] {
      seen = stage_->agent().policies();
      return !seen.empty() && seen.front().limited_by == "demand";
    }));
    return seen.empty() ? testkit::PolicyView{} : seen.front();
  }
  [[nodiscard]] std::string mark(const std::string& name) const { return stage_->path("marks/" + name); }
  [[nodiscard]] std::string marked(const std::string& name) const { return testkit::contents(mark(name)); }
  void run(const std::string& script) {
    stage_->queue(1, "set +e; " + script);
    ASSERT_TRUE(stage_->settles(++jobs_));
  }
  [[nodiscard]] std::string result_of_last() { return stage_->github()->jobs().back().result; }

  const testkit::Elsewhere elsewhere_;
  std::optional<Stage> stage_;
  int jobs_ = 0;
};

TEST_F(Containment, WhoTakesTooMuchIsEndedAndTheNextJobRuns) {
  raise("", {{"cpu", "1"}, {"memory", "256MiB"}, {"pids", "80"}});
  ASSERT_EQ(policy().remedy, "");
  // Each of them detached, and deaf to all that can be heard.
  run("trap '' TERM INT HUP; i=0; while [ $i -lt 1000 ]; do setsid sh -c 'trap \"\" TERM; sleep 900' & "
      "i=$((i+1)); done; "
      "touch " +
      mark("all"));
  EXPECT_FALSE(fs::exists(mark("all")));
  EXPECT_NE(result_of_last(), "success");

  run("x=$(head -c 900000000 /dev/zero | tr '\\0' a); echo ${#x} > " + mark("huge"));
  EXPECT_FALSE(fs::exists(mark("huge")));
  EXPECT_NE(result_of_last(), "success");
  EXPECT_TRUE(stage_->agent().attempts().front().out_of_memory);

  run("cat /proc/self/cgroup > " + mark("groups"));
  EXPECT_EQ(result_of_last(), "success");
  EXPECT_FALSE(stage_->agent().attempts().front().out_of_memory);
  EXPECT_THAT(marked("groups"), HasSubstr("runner-manager-"));

  EXPECT_EQ(stage_->agent().leftovers().sum(), 0);
  EXPECT_FALSE(stage_->agent().cgroup_directories().empty());
  EXPECT_EQ(stage_->agent().terminate(), 0);
  EXPECT_TRUE(stage_->agent().cgroup_directories().empty());
}

TEST_F(Containment, AJobHasItsOwnTmpAndSeesNothingOfProtectedDirectories) {
  testkit::TemporaryDirectory keys(0755);
  std::ofstream(keys / "key") << "needle\n";
  ::chmod((keys / "key").c_str(), 0644);
  const std::string name = "rmgr-squat-" + std::to_string(::getpid());
  raise(", private_tmp: true, nice: 3, rlimits: {open_files: 300, core: 0}, protected_paths: [" +
            keys.path() + "], policies: {demo: {nice: 7}}",
        {});
  EXPECT_EQ(policy().note, "");
  const std::string look = "for d in /tmp /var/tmp /dev/shm; do [ -e $d/" + name +
                           " ] && echo $d; echo mine > $d/" + name + "; done > ";
  run(look + mark("first") + "; nice > " + mark("nice") + "; { ulimit -n; ulimit -Hn; ulimit -c; } > " +
      mark("limits") + "; ls -A " + keys.path() + " > " + mark("listed") + "; cat " + keys / "key" + " > " +
      mark("key") + "; umount " + keys.path() + " /tmp; unshare -m true && touch " + mark("unshared") +
      "; mount -t tmpfs none /tmp && touch " + mark("mounted") + "; cat " + keys / "key" + " >> " +
      mark("key") + "; cat /tmp/" + name + " > " + mark("kept") + "; exit 0");
  EXPECT_EQ(result_of_last(), "success");
  run(look + mark("second"));
  EXPECT_EQ(result_of_last(), "success");
  EXPECT_EQ(marked("first"), "");
  EXPECT_EQ(marked("second"), "");
  EXPECT_EQ(marked("kept"), "mine\n");
  for (const char* place : {"/tmp/", "/var/tmp/", "/dev/shm/"})
    EXPECT_FALSE(fs::exists(place + name)) << place;
  EXPECT_EQ(marked("nice"), "7\n");
  EXPECT_EQ(marked("limits"), "300\n300\n0\n");
  EXPECT_EQ(marked("listed"), "");
  EXPECT_EQ(marked("key"), "");
  EXPECT_FALSE(fs::exists(mark("unshared")));
  EXPECT_FALSE(fs::exists(mark("mounted")));
  EXPECT_EQ(stage_->agent().leftovers().sum(), 0);
}

TEST_F(Containment, AJobReachesNeitherTheAgentNorItsSupervisor) {
  raise("", {});
  const std::string agent = std::to_string(stage_->agent().pid());
  // Up to the supervisor: the shell, the worker and the listener stand between.
  run("p=$$; while [ \"$(cat /proc/$p/comm)\" != rmgr-shim ] && [ $p -gt 1 ]; do p=$(cut -d' ' -f4 "
      "/proc/$p/stat); done; "
      "[ $p -gt 1 ] && echo found > " +
      mark("shim") + "; for one in $p " + agent +
      "; do for n in KILL STOP TERM USR1; do kill -$n $one && echo signal; done; for f in mem environ maps; "
      "do "
      "cat /proc/$one/$f > /dev/null && echo $f; done; ls /proc/$one/fd /proc/$one/root/ && echo inside; "
      "done > " +
      mark("reached") + "; for f in " + stage_->path("state") + "/* " + stage_->path("state") + " " +
      stage_->path("state") + "/journal.db " + stage_->path("state") + "/control.sock " +
      stage_->path("token") + " " + stage_->path("daemon.log") +
      "; do { [ -r $f ] || [ -w $f ]; } && echo $f; done > " + mark("files") + "; ls " +
      stage_->path("runtimes") + "/demo > " + mark("others") + "; exit 0");
  EXPECT_EQ(result_of_last(), "success");
  EXPECT_EQ(marked("shim"), "found\n");
  EXPECT_EQ(marked("reached"), "");
  EXPECT_EQ(marked("files"), "");
  EXPECT_EQ(marked("others"), "");
  EXPECT_FALSE(stage_->agent().ended());
}

TEST_F(Containment, RuntimesBelowAPrivateDirectoryAreRefusedBeforeAnythingIsRegistered) {
  ::setenv("TMPDIR", "/tmp", 1);
  raise(", private_tmp: true", {});
  stage_->queue(1, "true");
  EXPECT_TRUE(eventually([this] {
    const auto all = stage_->agent().attempts();
    return !all.empty() && all.front().registered_ms == 0 && all.front().state == "cleaned";
  }));
  EXPECT_THAT(testkit::contents(stage_->agent().log_file()), HasSubstr("lies in /tmp"));
  EXPECT_EQ(stage_->github()->summary().completed, 0);
}

TEST_F(Containment, StatusListsWhatAnUncontainedJobCanDo) {
  stage_.emplace(1,
                 [](testkit::AgentSetup& setup) { setup.provider_config = "{allow_shared_account: true}"; });
  ASSERT_TRUE(stage_->agent().start());
  std::string note;
  EXPECT_TRUE(eventually([&] {
    note = policy().note;
    return !note.empty();
  }));
  EXPECT_THAT(note, HasSubstr("jobs can read this agent's credentials"));
  EXPECT_THAT(note, HasSubstr("/tmp, /var/tmp and /dev/shm are shared"));
}

}  // namespace
}  // namespace integration
