#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hyperv/machine.hpp"
#include "hyperv/sandbox.hpp"
#include "hyperv/settings.hpp"
#include "support/temporary.hpp"
#include "unit/plugin_github/fakes.hpp"

namespace hyperv {
namespace {

using plugin_test::error_of;
using rmgr::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(HypervMachine, EachMissingFeatureHasItsOwnRemedy) {
  struct Case {
    Features features;
    const char* says;  // null: nothing is missing
  };
  const Presence yes = Presence::present;
  const Presence no = Presence::absent;
  const Presence unknown = Presence::unknown;
  const std::vector<Case> cases = {
      {{false, no, no}, "needs Windows"},
      {{false, yes, yes}, "needs Windows"},
      {{true, no, no}, "Microsoft-Hyper-V"},
      {{true, no, yes}, "Microsoft-Hyper-V"},
      {{true, yes, no}, "-FeatureName Containers"},
      {{true, unknown, no}, "-FeatureName Containers"},
      {{true, yes, yes}, nullptr},
      {{true, unknown, unknown}, nullptr},
  };
  for (const Case& one : cases) {
    const auto missing = missing_feature(one.features);
    ASSERT_EQ(missing.has_value(), one.says != nullptr);
    EXPECT_THAT(missing.value_or(""), HasSubstr(one.says != nullptr ? one.says : ""));
  }
}

TEST(HypervMachine, IsAskedAgainUntilNothingIsMissing) {
  int asked = 0;
  Features now{true, Presence::absent, Presence::present};
  Machine machine([&] {
    ++asked;
    return now;
  });
  EXPECT_TRUE(missing_feature(machine.features()));
  now.hyper_v = Presence::present;
  EXPECT_FALSE(missing_feature(machine.features()));
  EXPECT_FALSE(missing_feature(machine.features()));
  EXPECT_EQ(asked, 2);
}

TEST(HypervSettings, WhatCannotBeMeantIsRefusedByItsKey) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"host":"unix:///var/run/docker.sock"})", "host:"},
      {R"({"host":"tcp://10.0.0.1:2375"})", "tls"},
      {R"({"host":"npipe:////./pipe/x","tls":{"ca":"/ca"}})", "tls:"},
      {R"({"runner_path":"C:\\"})", "runner_path:"},
      {R"({"runner_path":"C:\\a\\..\\b"})", "runner_path:"},
      {R"({"runner_path":"C:\\a\\\\b"})", "runner_path:"},
      {R"({"runner_path":"C:\\a\\"})", "runner_path:"},
      {R"({"environment":["ACTIONS_RUNNER_INPUT_JITCONFIG=x"]})", "environment:"},
      {R"({"network":7})", "form"},
  };
  for (const auto& [json, word] : cases) {
    const auto error = error_of([&, text = json] { parse_settings(text); });
    EXPECT_EQ(error.status(), Status::invalid) << json;
    EXPECT_THAT(error.what(), HasSubstr(word)) << json;
  }
  for (const char* fine : {"{}", R"({"host":"npipe:////./pipe/other"})", R"({"host":"tcp://127.0.0.1:2375"})",
                           R"({"runner_path":"D:\\actions\\runner"})"})
    EXPECT_EQ(error_of([&] { parse_settings(fine); }).status(), Status::ok) << fine;
}

TEST(HypervSandbox, CarriesTheLimitsThatWindowsHasAndRefusesTheOther) {
  rmgr::Allocation allocation;
  allocation.profile.cpu_milli = 1500;
  allocation.profile.memory_bytes = std::int64_t{2} << 30;
  allocation.profile.disk_bytes = std::int64_t{40} << 30;
  const Settings settings = parse_settings(R"({"user":"ContainerUser"})");
  for (const auto& spec : {runner_of(settings, allocation), trial_of(settings, allocation)}) {
    EXPECT_EQ(spec.isolation, "hyperv");
    EXPECT_EQ(spec.platform, "windows/amd64");
    EXPECT_EQ(spec.network, "nat");
    EXPECT_EQ(spec.user, "ContainerUser");
    EXPECT_EQ(spec.nano_cpus, 1'500'000'000);
    EXPECT_EQ(spec.memory_bytes, std::int64_t{2} << 30);
    EXPECT_EQ(spec.disk_bytes, std::int64_t{40} << 30);
  }
  EXPECT_FALSE(is_trial(runner_of(settings, allocation).labels));
  EXPECT_TRUE(is_trial(trial_of(settings, allocation).labels));
  allocation.profile.pids = 100;
  EXPECT_EQ(error_of([&] { runner_of(settings, allocation); }).status(), Status::unsupported);
}

TEST(HypervSandbox, StartsTheListenerWhereItIs) {
  const rmgr::Allocation allocation;
  const auto copied = runner_of(parse_settings("{}"), allocation);
  EXPECT_THAT(copied.entrypoint, ElementsAre(R"(C:\runner-manager\rmgr-bootstrap.exe)"));
  EXPECT_THAT(copied.command, ElementsAre(R"(C:\runner\bin\Runner.Listener.exe)", "run"));
  const auto trial = trial_of(parse_settings(R"({"runner_path":"D:\\actions"})"), allocation);
  EXPECT_THAT(trial.entrypoint, ElementsAre(R"(D:\actions\bin\Runner.Listener.exe)"));
  EXPECT_THAT(trial.command, ElementsAre("--version"));
}

TEST(HypervSandbox, ABootstrapThatIsNotThereIsNamed) {
  const auto error = error_of([] { bootstrap_of(parse_settings(R"({"bootstrap":"/nonexistent/b.exe"})")); });
  EXPECT_EQ(error.status(), Status::invalid);
  EXPECT_THAT(error.what(), HasSubstr("/nonexistent/b.exe"));
}

}  // namespace
}  // namespace hyperv
