#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oci/sandbox.hpp"
#include "oci/settings.hpp"
#include "unit/plugin_github/fakes.hpp"

namespace oci {
namespace {

using plugin_test::error_of;
using rmgr::Status;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string digest = "sha256:" + std::string(64, 'a');

TEST(OciSettings, AnEmptyOneIsTheStrictOne) {
  const ContainerSettings settings = parse_settings("{}").common;
  EXPECT_EQ(settings.network, "own");
  EXPECT_FALSE(settings.privilege_escalation);
  EXPECT_TRUE(settings.init);
  EXPECT_FALSE(settings.in_image);
  EXPECT_EQ(settings.pids, 4096);
}

TEST(OciSettings, WhatCannotBeMeantIsRefusedByItsKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"host":"unix://relative"})", "host:"},
      {R"({"host":"npipe:////./pipe/x"})", "host:"},
      {R"({"host":"tcp://10.0.0.1:2375"})", "tls"},
      {R"({"tls":{"ca":"/ca"}})", "tls:"},
      {R"({"host":"unix:///x","tls":{"ca":"/ca"}})", "tls:"},
      {R"({"host":"tcp://e:1","tls":{"ca":"/ca","certificate":"/c"}})", "tls:"},
      {R"({"network":"host"})", "network:"},
      {R"({"runner_path":"/a/../b"})", "runner_path:"},
      {R"({"runner_path":"/"})", "runner_path:"},
      {R"({"tmpfs":["/a//b"]})", "tmpfs:"},
      {R"({"environment":["ACTIONS_RUNNER_INPUT_JITCONFIG=x"]})", "environment:"},
      {R"({"add_capabilities":["ALL"]})", "add_capabilities:"},
      {R"({"pids":"many"})", "form"},
      {R"({"policies":{"web":{"network":"host"}}})", "network:"},
      {R"({"policies":{"web":{"add_capabilities":["ALL"]}}})", "add_capabilities:"},
  };
  for (const auto& [json, word] : cases) {
    const auto error = error_of([&, text = json] { parse_settings(text); });
    EXPECT_EQ(error.status(), Status::invalid) << json;
    EXPECT_THAT(error.what(), HasSubstr(word)) << json;
  }
  EXPECT_EQ(error_of([] { parse_settings(R"({"host":"tcp://127.0.0.1:2375"})"); }).status(), Status::ok);
}

TEST(OciSettings, APolicyHasItsOwnOnTopOfTheInstances) {
  const Settings settings = parse_settings(R"({"user":"7","add_capabilities":["SYS_PTRACE"],"policies":{
    "web":{"privilege_escalation":true,"add_capabilities":["NET_RAW"]},
    "bare":{"add_capabilities":[],"network":"none"}}})");
  EXPECT_FALSE(settings.of("other").privilege_escalation);
  EXPECT_TRUE(settings.of("web").privilege_escalation);
  EXPECT_EQ(settings.of("web").user, "7");
  EXPECT_EQ(settings.of("web").add_capabilities, std::vector<std::string>{"NET_RAW"});
  EXPECT_TRUE(settings.of("bare").add_capabilities.empty());
  EXPECT_EQ(settings.of("bare").network, "none");
}

TEST(OciSettings, WhatIsLoosenedIsNamed) {
  const auto said = [](const std::string& json) { return loosened(parse_settings(json).common); };
  EXPECT_EQ(said("{}"), "");
  EXPECT_EQ(said(R"({"network":"none","read_only":true,"tmpfs":["/x"],"pids":64})"), "");
  const std::string all = said(
      R"({"network":"shared","init":false,"privilege_escalation":true,"add_capabilities":["SYS_PTRACE","NET_RAW"]})");
  for (const char* name :
       {"add_capabilities SYS_PTRACE NET_RAW", "privilege_escalation", "init false", "network shared"})
    EXPECT_THAT(all, HasSubstr(name));
}

TEST(OciSandbox, LoosensOnlyWhatIsNamed) {
  rmgr::Allocation allocation;
  allocation.image = digest;
  const auto strict = sandbox_of(parse_settings("{}").common, allocation, "n");
  EXPECT_EQ(strict.add_capabilities, base_capabilities());
  EXPECT_THAT(strict.add_capabilities, Not(Contains("SYS_ADMIN")));
  EXPECT_FALSE(strict.new_privileges);
  EXPECT_EQ(strict.pids, 4096);
  allocation.profile.pids = 100;
  allocation.profile.cpu_milli = 1500;
  allocation.profile.memory_bytes = 1 << 30;
  const auto loose = sandbox_of(
      parse_settings(R"({"add_capabilities":["SYS_PTRACE"],"privilege_escalation":true,"read_only":true})")
          .common,
      allocation, "n");
  EXPECT_THAT(loose.add_capabilities, Contains("SYS_PTRACE"));
  EXPECT_TRUE(loose.new_privileges);
  EXPECT_TRUE(loose.read_only);
  EXPECT_THAT(loose.volumes, Contains("/opt/actions-runner"));
  EXPECT_TRUE(loose.tmpfs.contains("/tmp"));
  EXPECT_EQ(loose.pids, 100);
  EXPECT_EQ(loose.nano_cpus, 1'500'000'000);
  EXPECT_EQ(loose.memory_bytes, 1 << 30);
}

TEST(OciSandbox, ThePackageBelongsToTheRunner) {
  plugins::engine::Image image;
  EXPECT_EQ(account_of(parse_settings("{}").common, image).uid, 0U);
  image.user = "1001:1002";
  EXPECT_EQ(account_of(parse_settings("{}").common, image).gid, 1002U);
  image.user = "runner";
  EXPECT_EQ(error_of([&] { account_of(parse_settings("{}").common, image); }).status(), Status::invalid);
  EXPECT_EQ(account_of(parse_settings(R"({"user":"7"})").common, image).uid, 7U);
}

TEST(OciSandbox, ADiskLimitIsBelievedOnlyWhereStorageCounts) {
  plugins::engine::Info info;
  info.driver = "overlay2";
  info.backing = "extfs";
  EXPECT_FALSE(limits_disk(info));
  info.backing = "xfs";
  EXPECT_TRUE(limits_disk(info));
  info.rootless = true;
  EXPECT_FALSE(limits_disk(info));
  info = {};
  info.driver = "btrfs";
  EXPECT_TRUE(limits_disk(info));
  info.driver = "vfs";
  EXPECT_FALSE(limits_disk(info));
}

}  // namespace
}  // namespace oci
