#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "config/config.hpp"
#include "support/temporary.hpp"

namespace agent::config {
namespace {

using domain::Millis;

std::string problems_of(const Loaded& loaded) {
  std::string all;
  for (const Problem& problem : loaded.problems)
    all += to_string(problem) + "\n";
  return all;
}

Configuration good(const std::string& text) {
  const Loaded loaded = load_text(text, "f.yaml");
  EXPECT_TRUE(loaded.configuration) << problems_of(loaded);
  return loaded.configuration.value_or(Configuration{});
}

const std::string kInstances =
    "gateways: [{name: github, plugin: github}]\n"
    "package_sources: [{name: packages, plugin: github}]\n"
    "providers: [{name: native, plugin: native}]\n";

TEST(Config, DefaultsAreThoseOfTheHeader) {
  Configuration expected;
  expected.state_directory = "/var/lib/rm";
  expected.control_socket = "/var/lib/rm/control.sock";
  const Configuration found = good("state: /var//lib/rm/\n");
  EXPECT_EQ(found.state_directory, expected.state_directory);
  EXPECT_EQ(found.control_socket, expected.control_socket);
  EXPECT_EQ(found.host_capacity, 1);
  EXPECT_EQ(found.target_cap, 0);
  EXPECT_EQ(found.drain_timeout, Millis{60'000});
  EXPECT_EQ(found.polling.quiet, Millis{10'000});
  EXPECT_EQ(found.polling.active, Millis{60'000});
  EXPECT_FALSE(found.polling.allow_below_floor);
  EXPECT_EQ(found.keep_attempts, 10'000);
  EXPECT_EQ(found.keep_for, Millis{30LL * 24 * 3600 * 1000});
  EXPECT_EQ(found.package_check_interval, Millis{6 * 3600 * 1000});
  EXPECT_TRUE(found.package_pins.empty() && found.plugin_directories.empty() && found.providers.empty() &&
              found.gateways.empty() && found.package_sources.empty() && found.policies.empty());
  EXPECT_EQ(found.log_level, "info");
  EXPECT_EQ(found.log_file, "");
}

TEST(Config, EveryKeyIsRead) {
  const std::string digest(64, 'A');
  const Configuration found = good(
      "state: /var/lib/rm\n"
      "control: {socket: /run/rm/control.sock}\n"
      "host: {capacity: 4, target_cap: 2, drain_timeout: 90s}\n"
      "polling: {quiet: 250ms, active: 1s, allow_below_floor: true}\n"
      "history: {keep: 5, keep_for: 2d}\n"
      "packages: {check_interval: 5m, pins: {\"2.330.0\": \"" +
      digest +
      "\"}}\n"
      "log: {level: debug, file: /var/log/rm.log}\n"
      "plugins: {directories: [/usr/lib/rm/plugins, /opt/plugins/]}\n"
      "gateways: [{name: github, plugin: github, required: true, sha256: " +
      digest +
      ", config: {url: \"https://github.com\"}}]\n"
      "package_sources: [{name: packages, plugin: github, enabled: false}]\n"
      "providers: [{name: native, plugin: native, config: {}}]\n"
      "policies:\n"
      "  - name: web\n"
      "    target: Owner/Repo\n"
      "    gateway: github\n"
      "    provider: native\n"
      "    packages: packages\n"
      "    labels: [linux-build, Self-Hosted]\n"
      "    runner_group_id: 7\n"
      "    root: /srv/web/\n"
      "    workspace: persistent\n"
      "    min: 1\n"
      "    max: 9\n"
      "    priority: -3\n"
      "    state: paused\n"
      "    timeouts: {jit_handoff: 1s, startup: 2s, idle: 3s, stop_grace: 0, job: 6h}\n"
      "    profile: {image: \"img@sha256:" +
      std::string(64, 'a') + "\", cpu: 1.5, memory: 4GiB, disk: 20GiB, pids: 512}\n");
  EXPECT_EQ(found.control_socket, "/run/rm/control.sock");
  EXPECT_EQ(found.host_capacity, 4);
  EXPECT_EQ(found.target_cap, 2);
  EXPECT_EQ(found.drain_timeout, Millis{90'000});
  EXPECT_EQ(found.polling.quiet, Millis{250});
  EXPECT_EQ(found.polling.active, Millis{1000});
  EXPECT_EQ(found.keep_attempts, 5);
  EXPECT_EQ(found.keep_for, Millis{2LL * 24 * 3600 * 1000});
  EXPECT_EQ(found.package_check_interval, Millis{300'000});
  ASSERT_EQ(found.package_pins.size(), 1U);
  EXPECT_EQ(found.package_pins[0], std::make_pair(std::string("2.330.0"), std::string(64, 'a')));
  EXPECT_EQ(found.plugin_directories, (std::vector<std::string>{"/usr/lib/rm/plugins", "/opt/plugins"}));
  EXPECT_EQ(found.log_level, "debug");
  EXPECT_EQ(found.log_file, "/var/log/rm.log");
  ASSERT_EQ(found.gateways.size(), 1U);
  EXPECT_TRUE(found.gateways[0].required);
  EXPECT_EQ(found.gateways[0].sha256, std::string(64, 'a'));
  EXPECT_EQ(found.gateways[0].config_json, R"({"url":"https://github.com"})");
  EXPECT_FALSE(found.package_sources[0].enabled);
  EXPECT_EQ(found.providers[0].config_json, "{}");
  ASSERT_EQ(found.policies.size(), 1U);
  const domain::Policy& policy = found.policies[0];
  EXPECT_EQ(policy.name.str(), "web");
  EXPECT_EQ(policy.target.str(), "Owner/Repo");
  EXPECT_EQ(policy.package_source.str(), "packages");
  EXPECT_EQ(policy.root, "/srv/web");
  EXPECT_EQ(policy.workspace, domain::WorkspaceKind::persistent);
  EXPECT_EQ(policy.runner_group_id, 7);
  EXPECT_EQ(std::make_tuple(policy.min, policy.max, policy.priority), std::make_tuple(1, 9, -3));
  EXPECT_EQ(policy.state, domain::PolicyState::paused);
  EXPECT_EQ(policy.timeouts,
            (domain::Timeouts{Millis{1000}, Millis{2000}, Millis{3000}, Millis{0}, Millis{21'600'000}}));
  EXPECT_EQ(policy.profile.cpu_milli, 1500);
  EXPECT_EQ(policy.profile.memory_bytes, 4LL << 30);
  EXPECT_EQ(policy.profile.disk_bytes, 20LL << 30);
  EXPECT_EQ(policy.profile.pids, 512);
  ASSERT_EQ(policy.labels.size(), 4U);  // own two, then os and architecture; self-hosted is there already
  EXPECT_EQ(policy.labels[0], "linux-build");
  EXPECT_EQ(policy.labels[1], "Self-Hosted");
}

TEST(Config, TheOnlyInstanceIsTheDefault) {
  const Configuration found =
      good("state: /s\n" + kInstances + "policies: [{name: a, target: o, root: /r, labels: []}]\n");
  ASSERT_EQ(found.policies.size(), 1U);
  EXPECT_EQ(found.policies[0].gateway.str(), "github");
  EXPECT_EQ(found.policies[0].provider.str(), "native");
  EXPECT_EQ(found.policies[0].package_source.str(), "packages");
  EXPECT_EQ(found.policies[0].labels.size(), 3U);
  EXPECT_EQ(found.policies[0].labels[0], "self-hosted");
}

TEST(Config, PluginConfigurationIsCanonicalJson) {
  const Configuration found = good(
      "state: /s\n"
      "providers:\n"
      "  - name: a\n"
      "    plugin: a\n"
      "    config:\n"
      "      z: true\n"
      "      b: \"true\"\n"
      "      i: -12\n"
      "      r: 2.5\n"
      "      e: 1e3\n"
      "      q: \"010\"\n"
      "      v: 2.330.0\n"
      "      t: 'text \"x\" ü'\n"
      "      list: [1, a, {k: v}]\n"
      "      empty: \"\"\n"
      "      none: {}\n"
      "      token: credential:github-token\n"
      "      a_token_file: /etc/x\n"
      "      block: |\n"
      "        one\n"
      "        two\n");
  EXPECT_EQ(found.providers.at(0).config_json,
            R"({"a_token_file":"/etc/x","b":"true","block":"one\ntwo\n","e":1000.0,"empty":"","i":-12,)"
            R"("list":[1,"a",{"k":"v"}],"none":{},"q":"010","r":2.5,"t":"text \"x\" ü",)"
            R"("token":"credential:github-token","v":"2.330.0","z":true})");
}

TEST(Config, ByteOrderMarkAndCarriageReturnsAreFine) {
  EXPECT_EQ(good("\xEF\xBB\xBFstate: /s\r\nhost: {capacity: 2}\r\n").host_capacity, 2);
}

class Files : public ::testing::Test {
 protected:
  const testkit::TemporaryDirectory temporary_{0700};
  const std::string directory_ = temporary_.path();
};

TEST_F(Files, AreRead) {
  std::ofstream(directory_ + "/a.yaml") << "state: /s\n";
  EXPECT_TRUE(load_file(directory_ + "/a.yaml").configuration);
}

TEST_F(Files, WhatIsNoReadableFileIsAProblem) {
  EXPECT_NE(problems_of(load_file(directory_ + "/none.yaml")).find("cannot be read"), std::string::npos);
  EXPECT_NE(problems_of(load_file(directory_)).find("not a regular file"), std::string::npos);
  ASSERT_EQ(::mkfifo((directory_ + "/fifo").c_str(), 0600), 0);
  EXPECT_NE(problems_of(load_file(directory_ + "/fifo")).find("not a regular file"), std::string::npos);
  std::ofstream(directory_ + "/large.yaml") << "#" << std::string(2 << 20, 'x');
  EXPECT_NE(problems_of(load_file(directory_ + "/large.yaml")).find("larger than 1 MiB"), std::string::npos);
}

TEST(Config, TheExamplesLoad) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(RMGR_SOURCE_DIR "/config")) {
    if (file.path().extension() != ".yaml") continue;
    ++count;
    const Loaded loaded = load_file(file.path());
    EXPECT_TRUE(loaded.configuration) << problems_of(loaded);
    EXPECT_TRUE(loaded.configuration && !loaded.configuration->policies.empty()) << file.path();
  }
  EXPECT_GE(count, 3);
}

// Whatever stands in a file, loading ends, answers, and throws nothing.
TEST(Config, RandomDocuments) {
  const std::vector<std::string> pieces{"state",
                                        ":",
                                        " ",
                                        "\n",
                                        "  ",
                                        "- ",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        "policies",
                                        "name",
                                        "\"",
                                        "'",
                                        "&a",
                                        "*a",
                                        "!t",
                                        "|",
                                        ">",
                                        "?",
                                        "<<",
                                        "---",
                                        "...",
                                        "#",
                                        "%",
                                        "@",
                                        "token",
                                        "ghp_0123456789",
                                        "010",
                                        "yes",
                                        "~",
                                        "\\",
                                        "\\xff",
                                        "\\ud800",
                                        "/s",
                                        "4",
                                        "10s",
                                        "config",
                                        "providers",
                                        "plugin",
                                        "\t",
                                        "\r",
                                        "é"};
  std::mt19937 random(99);
  for (int round = 0; round < 4000; ++round) {
    std::string text = round % 2 == 0 ? "state: /s\n" : "";
    const auto count = random() % 40;
    for (std::size_t i = 0; i < count; ++i)
      text += pieces[random() % pieces.size()];
    const Loaded loaded = load_text(text, "f");
    ASSERT_NE(loaded.configuration.has_value(), !loaded.problems.empty()) << text;
    ASSERT_EQ(problems_of(loaded).find("0123456789"), std::string::npos) << text << "\n"
                                                                         << problems_of(loaded);
  }
}

}  // namespace
}  // namespace agent::config
