#include "daemon/reload.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary.hpp"

namespace agent::daemon {
namespace {

using config::Configuration;
using Sections = std::vector<std::string>;

Configuration configuration() {
  Configuration made;
  made.state_directory = "/state";
  config::Instance& github = made.gateways.emplace_back();
  github.name = domain::InstanceName("github");
  github.plugin = "github";
  return made;
}

TEST(Reload, WhatOnlyAStartReadsIsNamedAsTheFileNamesIt) {
  const Configuration now = configuration();
  EXPECT_EQ(sections_for_a_restart(now, now), Sections{});
  const auto sections = [&now](auto change) {
    Configuration next = now;
    change(next);
    return sections_for_a_restart(now, next);
  };
  EXPECT_EQ(sections([](auto& c) { c.state_directory = "/other"; }), Sections{"state"});
  EXPECT_EQ(sections([](auto& c) { c.control_socket = "/other"; }), Sections{"control"});
  EXPECT_EQ(sections([](auto& c) { c.plugin_directories = {"/p"}; }), Sections{"plugins"});
  EXPECT_EQ(sections([](auto& c) { c.package_pins = {{"a", "b"}}; }), Sections{"packages"});
  EXPECT_EQ(sections([](auto& c) { c.log_level = "debug"; }), Sections{"log"});
  EXPECT_EQ(sections([](auto& c) { c.gateways[0].config_json = "{}"; }), Sections{"gateways"});
  EXPECT_EQ(sections([](auto& c) { c.gateways[0].sha256 = "x"; }), Sections{"gateways"});
  EXPECT_EQ(sections([](auto& c) { c.gateways[0].enabled = false; }), Sections{"gateways"});
  EXPECT_EQ(sections([](auto& c) { c.providers.emplace_back(); }), Sections{"providers"});
  EXPECT_EQ(sections([](auto& c) {
              c.package_sources.emplace_back();
              c.log_file = "/log";
            }),
            (Sections{"log", "package_sources"}));
}

TEST(Reload, WhereAnInstanceStandsInTheFileIsNoChange) {
  const Configuration now = configuration();
  Configuration next = now;
  next.gateways[0].plugin_place = {.line = 9, .column = 3};
  EXPECT_EQ(sections_for_a_restart(now, next), Sections{});
}

TEST(Reload, PoliciesAndLimitsNeedNoRestart) {
  const Configuration now = configuration();
  Configuration next = now;
  next.host_capacity = 9;
  next.target_cap = 3;
  next.polling.quiet = domain::Millis{7'000};
  next.keep_attempts = 3;
  next.policies.emplace_back();
  EXPECT_EQ(sections_for_a_restart(now, next), Sections{});
  const auto options = engine_options(next);
  EXPECT_EQ(options.host_capacity, 9);
  EXPECT_EQ(options.target_cap, 3);
  EXPECT_EQ(options.poll_quiet, domain::Millis{7'000});
  EXPECT_EQ(options.keep_attempts, 3);
}

TEST(Reload, EveryProblemOfTheFileIsInTheAnswer) {
  const testkit::TemporaryDirectory directory(0700);
  std::ofstream(directory / "config.yaml") << "state: /state\nhots: 1\nhost: {capacity: -1}\n";
  const auto read = read_for_reload(directory / "config.yaml", configuration());
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("config.yaml:2:1"), std::string::npos) << read.error().message;
  EXPECT_NE(read.error().message.find("config.yaml:3:"), std::string::npos) << read.error().message;
}

}  // namespace
}  // namespace agent::daemon
