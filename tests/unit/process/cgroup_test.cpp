#include "process/cgroup.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "unit/process/fixture.hpp"

namespace agent::process::testing {
namespace {

namespace fs = std::filesystem;

TEST(CgroupLimits, AreWrittenAsEachKindOfHierarchyReadsThem) {
  const Limits all{1'500, 268'435'456, 64};
  EXPECT_EQ(unified_settings(Controller::cpu, all), (std::vector<Setting>{{"cpu.max", "150000 100000"}}));
  EXPECT_EQ(unified_settings(Controller::memory, all),
            (std::vector<Setting>{
                {"memory.max", "268435456"}, {"memory.swap.max", "0", true}, {"memory.oom.group", "1"}}));
  EXPECT_EQ(unified_settings(Controller::pids, all), (std::vector<Setting>{{"pids.max", "64"}}));
  EXPECT_EQ(legacy_settings(Controller::cpu, all),
            (std::vector<Setting>{{"cpu.cfs_period_us", "100000"}, {"cpu.cfs_quota_us", "150000"}}));
  EXPECT_EQ(legacy_settings(Controller::memory, all),
            (std::vector<Setting>{{"memory.limit_in_bytes", "268435456"},
                                  {"memory.memsw.limit_in_bytes", "268435456", true}}));
  EXPECT_EQ(legacy_settings(Controller::pids, all), (std::vector<Setting>{{"pids.max", "64"}}));
  for (const Controller each : controllers) {
    EXPECT_TRUE(unified_settings(each, {}).empty());
    EXPECT_TRUE(legacy_settings(each, {}).empty());
  }
  // A hundredth of a core is a millisecond in each tenth of a second, the least that the kernel takes.
  EXPECT_EQ(unified_settings(Controller::cpu, {10, 0, 0}).front().value, "1000 100000");
}

// Plain files stand in for those of a cgroup: they show what is written and in which order it must exist.
class FakeGroup : public ::testing::Test {
 protected:
  void make(const std::string& group, const std::vector<std::string>& files) {
    fs::create_directories(directory_.path() + '/' + group);
    for (const std::string& file : files)
      write_text(directory_.path() + '/' + group + '/' + file, "");
  }
  [[nodiscard]] std::string text(const std::string& file) const {
    return read_text(directory_.path() + '/' + file);
  }
  Directory directory_;
};

TEST_F(FakeGroup, CgroupV2HandsItsControllersDownAndLimitsTheJobsLeafAlone) {
  make("", {"cgroup.procs", "cgroup.controllers", "cgroup.subtree_control"});
  write_text(directory_.path() + "/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
  make("ours", {"cgroup.subtree_control"});
  make("ours/a", {"cgroup.subtree_control"});
  make("ours/a/shim", {"cgroup.procs", "memory.max"});
  make("ours/a/job", {"cgroup.procs", "cgroup.kill", "cpu.max", "memory.max", "memory.swap.max",
                      "memory.oom.group", "pids.max"});
  auto groups = Cgroups::open({"ours", directory_.path(), {}, {}, {}});
  ASSERT_TRUE(groups.ok());
  for (const Controller each : controllers)
    EXPECT_TRUE(groups->limits(each));
  auto made = groups->make("a", {2'000, 1 << 30, 100});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->unified, directory_.path() + "/ours/a");
  EXPECT_TRUE(made->limited.empty());
  // A real file keeps them all; a plain one shows the last that was written.
  for (const char* level : {"", "ours/", "ours/a/"})
    EXPECT_TRUE(text(std::string(level) + "cgroup.subtree_control").starts_with("+pids")) << level;
  EXPECT_EQ(text("ours/a/job/cpu.max"), "200000 100000");
  EXPECT_EQ(text("ours/a/job/memory.max"), "1073741824");
  EXPECT_EQ(text("ours/a/job/memory.swap.max"), "0");
  EXPECT_EQ(text("ours/a/job/memory.oom.group"), "1");
  EXPECT_EQ(text("ours/a/job/pids.max"), "100");
  EXPECT_EQ(text("ours/a/shim/memory.max"), "");
}

TEST_F(FakeGroup, AKernelThatCountsNoSwapHasNoFileForIt) {
  make("", {"cgroup.procs", "cgroup.subtree_control"});
  write_text(directory_.path() + "/cgroup.controllers", "memory\n");
  make("ours", {"cgroup.subtree_control"});
  make("ours/a", {"cgroup.subtree_control"});
  make("ours/a/job", {"cgroup.kill", "memory.max", "memory.oom.group"});
  auto groups = Cgroups::open({"ours", directory_.path(), {}, {}, {}});
  ASSERT_TRUE(groups.ok());
  EXPECT_TRUE(groups->make("a", {0, 1 << 30, 0}).ok());
  EXPECT_FALSE(groups->limits(Controller::pids));
  const auto refused = groups->make("a", {0, 1 << 30, 5});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("pids"), std::string::npos);
}

TEST_F(FakeGroup, ALimitThatTheKernelRefusesRefusesTheProcess) {
  make("", {"cgroup.procs", "cgroup.subtree_control"});
  write_text(directory_.path() + "/cgroup.controllers", "memory\n");
  make("ours", {"cgroup.subtree_control"});
  make("ours/a", {"cgroup.subtree_control"});
  make("ours/a/job", {"cgroup.kill", "memory.max"});  // without memory.oom.group
  auto groups = Cgroups::open({"ours", directory_.path(), {}, {}, {}});
  ASSERT_TRUE(groups.ok());
  const auto refused = groups->make("a", {0, 1 << 30, 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("memory.oom.group"), std::string::npos);
}

TEST_F(FakeGroup, CgroupV1HasOneDirectoryForEachLimitThatIsAsked) {
  make("memory", {"cgroup.procs"});
  make("pids", {"cgroup.procs"});
  make("memory/ours/a", {"cgroup.procs", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"});
  auto groups = Cgroups::open({"ours", {}, {}, directory_.path() + "/memory", directory_.path() + "/pids"});
  ASSERT_TRUE(groups.ok());
  EXPECT_FALSE(groups->enabled());
  EXPECT_FALSE(groups->limits(Controller::cpu));
  auto made = groups->make("a", {0, 1 << 30, 0});
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->unified, "");
  EXPECT_EQ(made->limited, std::vector<std::string>{directory_.path() + "/memory/ours/a"});
  EXPECT_EQ(text("memory/ours/a/memory.limit_in_bytes"), "1073741824");
  EXPECT_EQ(text("memory/ours/a/memory.memsw.limit_in_bytes"), "1073741824");
  EXPECT_FALSE(fs::exists(directory_.path() + "/pids/ours"));
}

TEST_F(FakeGroup, OurDirectoriesGoAtTheEndUnlessAnAttemptStillHasAGroup) {
  make("memory/ours/a", {});
  make("pids/ours", {});
  auto groups = Cgroups::open({"ours", {}, {}, directory_.path() + "/memory", directory_.path() + "/pids"});
  ASSERT_TRUE(groups.ok());
  groups->remove_ours();
  EXPECT_TRUE(fs::exists(directory_.path() + "/memory/ours/a"));
  EXPECT_FALSE(fs::exists(directory_.path() + "/pids/ours"));
}

// Mounts and groups as the kernel prints them, with directories of ours for the mount points.
class Places : public FakeGroup {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return directory_.path() + '/' + name; }
  [[nodiscard]] std::string mount(const std::string& top, const std::string& name, const std::string& kind,
                                  const std::string& options) const {
    return "31 23 0:28 " + top + ' ' + at(name) + " rw,nosuid shared:9 - " + kind + " none " + options + '\n';
  }
};

TEST_F(Places, TheTopOfEachHierarchyIsTakenWhereItCanBeWritten) {
  make("unified", {"cgroup.procs"});
  make("memory", {"cgroup.procs"});
  make("cpu", {"cgroup.procs"});
  const std::string mounts = mount("/", "unified", "cgroup2", "rw,nsdelegate") +
                             mount("/", "memory", "cgroup", "rw,memory") +
                             mount("/", "cpu", "cgroup", "rw,cpu,cpuacct") +
                             mount("/", "missing", "cgroup", "rw,pids") + "a broken line\n";
  const CgroupPlaces places = find_cgroups("ours", mounts, "0::/system.slice/x.service\n4:memory:/y\n");
  EXPECT_EQ(places.name, "ours");
  EXPECT_EQ(places.unified, at("unified"));
  EXPECT_EQ(places.memory, at("memory"));
  EXPECT_EQ(places.cpu, at("cpu"));
  EXPECT_EQ(places.pids, "");
}

TEST_F(Places, ElseTheGroupInWhichTheAgentRuns) {
  // Without the file the top cannot be written, also not by root.
  make("unified/system.slice/x.service", {"cgroup.procs"});
  make("memory/deep", {"cgroup.procs"});
  const std::string mounts =
      mount("/", "unified", "cgroup2", "rw") + mount("/docker/1", "memory", "cgroup", "rw,memory");
  const CgroupPlaces places =
      find_cgroups("ours", mounts, "0::/system.slice/x.service\n4:memory:/docker/1/deep\n");
  EXPECT_EQ(places.unified, at("unified/system.slice/x.service"));
  EXPECT_EQ(places.memory, at("memory/deep"));
  EXPECT_EQ(find_cgroups("ours", mounts, "0::/../other\n4:memory:/docker/2\n").unified, "");
  EXPECT_EQ(find_cgroups("ours", mounts, "0::/../other\n4:memory:/docker/2\n").memory, "");
  EXPECT_EQ(find_cgroups("ours", "", "").unified, "");
}

TEST_F(Places, APathWithABlankIsReadAsItIs) {
  make("with blank", {"cgroup.procs"});
  const CgroupPlaces places = find_cgroups("ours", mount("/", "with\\040blank", "cgroup2", "rw"), "0::/\n");
  EXPECT_EQ(places.unified, at("with blank"));
}

TEST(ResourceLimits, HaveAClosedSetOfNames) {
  for (const char* name : {"open_files", "core", "file_size", "processes", "address_space", "data", "stack",
                           "locked_memory", "cpu_seconds"})
    EXPECT_TRUE(resource_of(name)) << name;
  EXPECT_FALSE(resource_of("nice"));
  EXPECT_FALSE(resource_of(""));
}

}  // namespace
}  // namespace agent::process::testing
