#include "native/containment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "native/runtime.hpp"
#include "native/settings.hpp"
#include "plugin/schema.hpp"
#include "unit/plugin_native/fakes.hpp"

namespace native {
namespace {

namespace fs = std::filesystem;
using rmgr::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::status_of;

constexpr rmgr::ProcessAbilities everything{true, true, true, true, true, true};

std::size_t problems(const char* json) {
  const auto checked = agent::plugin::check_config(settings_schema, json);
  return checked ? checked->problems.size() : 1000;
}

TEST(ContainmentSettings, HaveTheirBoundsInTheSchema) {
  EXPECT_EQ(problems(R"({"private_tmp": true, "protected_paths": ["/srv/keys"], "nice": 10,
                         "rlimits": {"open_files": 1024, "core": 0}, "no_new_privileges": true,
                         "policies": {"a": {"nice": 19, "rlimits": {}}, "b": {}}})"),
            0U);
  for (const char* wrong :
       {R"({"nice": -1})", R"({"nice": 20})", R"({"rlimits": {"files": 1}})", R"({"rlimits": {"core": -1}})",
        R"({"protected_paths": ["relative"]})", R"({"protected_paths": ["/"]})", R"({"private_tmp": "yes"})",
        R"({"policies": {"a": {"run_as": {}}}})", R"({"policies": {"a": 1}})"}) {
    EXPECT_EQ(problems(wrong), 1U) << wrong;
  }
}

TEST(ContainmentSettings, OfAPolicyReplaceThoseOfTheInstanceOneByOne) {
  const Settings settings = parse_settings(
      R"({"nice": 5, "private_tmp": false, "protected_paths": ["/a"], "rlimits": {"core": 0, "stack": 1048576},
          "policies": {"quiet": {"nice": 19}, "open": {"protected_paths": [], "rlimits": {"core": 7}},
                       "own": {"private_tmp": true, "no_new_privileges": true}}})");
  const ContainmentSettings& common = settings.of("other").containment;
  EXPECT_EQ(common.nice, 5);
  EXPECT_EQ(common.private_tmp, false);
  EXPECT_EQ(settings.of("quiet").containment.nice, 19);
  EXPECT_THAT(settings.of("quiet").containment.protected_paths, ElementsAre("/a"));
  EXPECT_THAT(settings.of("open").containment.protected_paths, IsEmpty());
  EXPECT_THAT(settings.of("open").containment.rlimits, ElementsAre(::testing::Pair("core", 7U)));
  EXPECT_EQ(settings.of("open").containment.nice, 5);
  EXPECT_EQ(settings.of("own").containment.private_tmp, true);
  EXPECT_TRUE(settings.of("own").containment.no_new_privileges);
  EXPECT_FALSE(common.no_new_privileges);
}

TEST(ContainmentSettings, DefaultsOfTheSchemaDoNotReplaceWhatTheInstanceSays) {
  const auto checked = agent::plugin::check_config(
      settings_schema, R"({"nice": 5, "private_tmp": false, "policies": {"a": {}}})");
  ASSERT_TRUE(checked);
  EXPECT_EQ(parse_settings(checked->config).of("a").containment,
            parse_settings(checked->config).common.containment);
}

TEST(ContainmentSettings, AProtectedPathIsPlain) {
  for (const char* wrong : {"/a/../b", "/a/", "/a/./b", "//a", "/proc", "/a/.."}) {
    const std::string json = std::string(R"({"policies": {"p": {"protected_paths": [")") + wrong + "\"]}}}";
    EXPECT_EQ(status_of([&] { parse_settings(json); }), Status::invalid) << wrong;
  }
}

struct Case {
  ContainmentSettings settings;
  Accounts accounts;
  rmgr::ProcessAbilities able = everything;
  rmgr::Profile profile;
  [[nodiscard]] Containment made() const { return {settings, accounts, able}; }
  [[nodiscard]] std::string refusal() const { return made().refusal(profile); }
  [[nodiscard]] std::vector<std::string> gaps() const { return made().gaps("ci-agent"); }
};

TEST(ContainmentRules, WhatCannotBeEnforcedIsRefusedWithItsRemedy) {
  Case one;
  one.profile.cpu_milli = 1000;
  one.profile.memory_bytes = 1 << 30;
  one.profile.pids = 10;
  EXPECT_EQ(one.refusal(), "");
  one.able.limit_memory = false;
  EXPECT_THAT(one.refusal(), HasSubstr("no cgroup controller for memory,"));
  one.able.limit_cpu = one.able.limit_pids = false;
  EXPECT_THAT(one.refusal(), HasSubstr("no cgroup controller for cpu, memory and pids,"));
  one.profile = {};
  EXPECT_EQ(one.refusal(), "");

  Case tiny;
  tiny.profile.cpu_milli = 9;
  EXPECT_THAT(tiny.refusal(), HasSubstr("at least 0.01 cores and 16 MiB"));
  tiny.profile = {};
  tiny.profile.memory_bytes = (16 << 20) - 1;
  EXPECT_THAT(tiny.refusal(), HasSubstr("at least 0.01 cores and 16 MiB"));
  tiny.profile.memory_bytes = 16 << 20;
  EXPECT_EQ(tiny.refusal(), "");

  Case hidden;
  hidden.settings.protected_paths = {"/srv/keys"};
  EXPECT_EQ(hidden.refusal(), "");
  hidden.able.arrange_directories = false;
  EXPECT_THAT(hidden.refusal(), HasSubstr("need a mount namespace"));
  hidden.able.arrange_directories = true;
  hidden.accounts.shared = true;
  EXPECT_THAT(hidden.refusal(), HasSubstr("configure run_as"));

  Case own;
  own.able.arrange_directories = false;
  EXPECT_EQ(own.refusal(), "");  // not asked for: done where it can be
  EXPECT_FALSE(own.made().private_tmp());
  own.settings.private_tmp = true;
  EXPECT_THAT(own.refusal(), HasSubstr("need a mount namespace"));
}

TEST(ContainmentRules, WhatNothingProtectsIsListed) {
  Case one;
  EXPECT_THAT(one.gaps(), IsEmpty());
  one.settings.private_tmp = false;
  EXPECT_THAT(one.gaps(), ElementsAre(HasSubstr("/tmp, /var/tmp and /dev/shm are shared")));
  one.able = {};
  EXPECT_THAT(one.gaps(), ElementsAre(HasSubstr("no cgroup holds"), HasSubstr("CPU, memory and processes"),
                                      HasSubstr("/tmp")));
  Case shared;
  shared.accounts.shared = true;
  EXPECT_THAT(shared.gaps(),
              ElementsAre("jobs can read this agent's credentials and each other's secrets, because "
                          "all run as ci-agent",
                          HasSubstr("lift its limits and leave its cgroup"), HasSubstr("/tmp")));
  shared.able = {};
  EXPECT_THAT(shared.gaps()[1], HasSubstr("outlives its job"));
}

TEST(ContainmentRules, PrivateDirectoriesAreTheDefaultForJobAccounts) {
  Case one;
  EXPECT_TRUE(one.made().private_tmp());
  one.accounts.shared = true;
  EXPECT_FALSE(one.made().private_tmp());
  one.settings.private_tmp = true;
  EXPECT_TRUE(one.made().private_tmp());
}

TEST(ContainmentRules, AJobMustSeeItsRuntimeAndItsPackage) {
  testing::Directory directory;  // below /tmp
  const std::string runtime = directory.path() + "/runtime";
  fs::create_directories(runtime);
  fs::create_symlink(runtime, directory.path() + "/link");
  Case one;
  std::string why;
  EXPECT_EQ(status_of([&] { one.made().check_places(runtime, "/usr"); }, &why), Status::invalid);
  EXPECT_THAT(why, HasSubstr("lies in /tmp"));
  EXPECT_EQ(status_of([&] { one.made().check_places("/usr", runtime); }), Status::invalid);
  EXPECT_EQ(status_of([&] { one.made().check_places("/usr", "/usr"); }), Status::ok);
  one.settings.private_tmp = false;
  EXPECT_EQ(status_of([&] { one.made().check_places(runtime, "/usr"); }), Status::ok);
  one.settings.protected_paths = {directory.path()};
  EXPECT_EQ(status_of([&] { one.made().check_places(runtime, "/usr"); }, &why), Status::invalid);
  EXPECT_THAT(why, HasSubstr("which the job needs"));
  EXPECT_EQ(status_of([&] { one.made().check_places(directory.path() + "x", "/usr"); }), Status::ok);
  one.settings.protected_paths = {directory.path() + "/link"};
  EXPECT_EQ(status_of([&] { one.made().check_places("/usr", "/usr"); }, &why), Status::invalid);
  EXPECT_THAT(why, HasSubstr("symbolic link"));
  one.settings.protected_paths = {directory.path() + "/missing"};
  EXPECT_EQ(status_of([&] { one.made().check_places(runtime, "/usr"); }), Status::ok);
}

TEST(ContainmentRules, WhatStandsForTmpIsAsOpenAsItAndOnlyThereIfAsked) {
  testing::Directory directory;
  const std::string runtime = directory.path() + "/runtime";
  fs::create_directories(runtime);
  const Account self{"me", static_cast<std::uint32_t>(::geteuid()), static_cast<std::uint32_t>(::getegid())};
  testing::Call call;
  give_runtime(call.view(), runtime, self, false);
  EXPECT_FALSE(fs::exists(runtime + "/_tmp"));
  give_runtime(call.view(), runtime, self, true);
  for (const char* name : {"/_tmp", "/_var_tmp"})
    EXPECT_EQ(fs::status(runtime + name).permissions(), fs::perms(01777)) << name;
}

TEST(ContainmentRules, EverythingThatIsAskedForReachesTheProcess) {
  Case one;
  one.profile.cpu_milli = 1500;
  one.profile.memory_bytes = 1 << 30;
  one.profile.pids = 99;
  one.settings.nice = 7;
  one.settings.no_new_privileges = true;
  one.settings.rlimits = {{"core", 0}, {"open_files", 512}};
  one.settings.protected_paths = {"/srv/keys"};
  rmgr::ProcessSpec spec;
  one.made().apply(one.profile, "/r", spec);
  EXPECT_EQ(spec.cpu_milli, 1500);
  EXPECT_EQ(spec.memory_bytes, 1 << 30);
  EXPECT_EQ(spec.pids, 99);
  EXPECT_EQ(spec.nice, 7);
  EXPECT_TRUE(spec.no_new_privileges);
  EXPECT_THAT(spec.resource_limits,
              ElementsAre(rmgr::ResourceLimit{"core", 0}, rmgr::ResourceLimit{"open_files", 512}));
  EXPECT_THAT(spec.hidden_directories, ElementsAre("/srv/keys", "/var/spool/cron", "/var/spool/at"));
  ASSERT_FALSE(spec.private_directories.empty());
  EXPECT_EQ(spec.private_directories[0], (rmgr::PrivateDirectory{"/tmp", "/r/_tmp"}));
  for (const rmgr::PrivateDirectory& each : spec.private_directories)
    EXPECT_TRUE(each.target != "/dev/shm" || each.backing.empty());
  one.settings = {};
  one.settings.private_tmp = false;
  rmgr::ProcessSpec bare;
  one.made().apply({}, "/r", bare);
  EXPECT_TRUE(bare.private_directories.empty());
  EXPECT_THAT(bare.hidden_directories, ElementsAre("/var/spool/cron", "/var/spool/at"))
      << "what starts later is outside of what holds a job";
  one.accounts.shared = true;
  rmgr::ProcessSpec shared;
  one.made().apply({}, "/r", shared);
  EXPECT_THAT(shared.hidden_directories, IsEmpty());
}

}  // namespace
}  // namespace native
