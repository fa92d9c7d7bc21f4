// What is wrong must be said, and nothing may start.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "stage.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;

int exit_code_of_run(Stage& stage) {
  int exit_code = 0;
  testkit::run_program(
      {stage.setup().bin + "/runner-manager", "run", "--config", stage.agent().config_file()}, &exit_code);
  return exit_code;
}

TEST(Refusal, a_wrong_configuration_ends_with_three) {
  Stage stage(1);
  std::ofstream(stage.agent().config_file(), std::ios::app) << "polcies: []\n";
  EXPECT_EQ(exit_code_of_run(stage), 3);
}

// Standard error goes to a file of the stage.
std::string said_by(Stage& stage, const std::string& command, const std::string& environment = "",
                    int* exit_code = nullptr) {
  const std::string file = stage.path("said");
  testkit::run_program({"/bin/sh", "-c",
                        environment + " " + stage.setup().bin + "/runner-manager " + command + " --config " +
                            stage.agent().config_file() + " 2> " + file},
                       exit_code);
  std::ifstream input(file);
  return {std::istreambuf_iterator<char>(input), {}};
}

std::string said_by_run(Stage& stage) { return said_by(stage, "run"); }

TEST(Refusal, a_wrong_configuration_of_a_plugin_is_found_whatever_its_loader_complains_about) {
  Stage stage(
      1, [](testkit::AgentSetup& setup) { setup.credential = "token: \"env:RMGR_NOT_SET\", page_size: 0"; });
  int exit_code = 0;
  const std::string said = said_by(stage, "run", "LD_PRELOAD=/nonexistent/preloaded.so", &exit_code);
  EXPECT_EQ(exit_code, 3) << said;
  EXPECT_NE(said.find("config.page_size: must be at least 1."), std::string::npos) << said;
}

TEST(Refusal, a_plugin_that_cannot_say_what_it_takes_is_named_and_stops_nothing_else) {
  testkit::TemporaryDirectory plugins(0755);
  for (const std::string& directory : {std::string(RMGR_PLUGIN_DIR), std::string(RMGR_BUILD_DIR "/zoo")}) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      const std::string name = entry.path().filename().string();
      const bool wanted = directory == RMGR_PLUGIN_DIR || name.starts_with("crashes-at-load.");
      if (entry.is_regular_file() && wanted) fs::copy_file(entry.path(), plugins / name);
    }
  }
  Stage stage(1, [&](testkit::AgentSetup& setup) { setup.plugins = plugins.path(); });
  std::ifstream read(stage.agent().config_file());
  std::string yaml{std::istreambuf_iterator<char>(read), {}};
  const std::string list = "gateways:\n";
  yaml.insert(yaml.find(list) + list.size(),
              "  - name: broken\n    plugin: crashes-at-load\n    config: {}\n");
  const std::string policies = "policies:\n";
  yaml.insert(yaml.find('\n', yaml.find(policies) + policies.size()) + 1, "    gateway: github\n");
  std::ofstream(stage.agent().config_file()) << yaml;
  int exit_code = 0;
  testkit::run_program({"/bin/sh", "-c",
                        stage.setup().bin + "/runner-manager config check --here " +
                            stage.agent().config_file() + " 2> " + stage.path("said")},
                       &exit_code);
  EXPECT_EQ(exit_code, 3);
  std::ifstream input(stage.path("said"));
  const std::string said{std::istreambuf_iterator<char>(input), {}};
  for (const std::string& part : {std::string("the configuration cannot be checked"),
                                  plugins / "crashes-at-load.so", std::string("(signal 6)")})
    EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
  ASSERT_TRUE(stage.agent().start());
  EXPECT_NE(stage.agent().status_json().find("Loading it ended a child process (signal 6)"),
            std::string::npos);
  stage.queue(1, "true");
  EXPECT_TRUE(stage.settles(1));
}

TEST(Refusal, a_configuration_that_a_plugin_does_not_take_ends_with_three_at_its_place) {
  Stage stage(1, [](testkit::AgentSetup& setup) {
    setup.credential = "token: \"env:RMGR_NOT_SET\", page_size: 0, tokn: x";
  });
  EXPECT_EQ(exit_code_of_run(stage), 3);
  const std::string said = said_by_run(stage);
  for (const char* part :
       {"config.yaml:", "config.page_size: must be at least 1.", "config.tokn: is not known;",
        "config.token: The secret env:RMGR_NOT_SET cannot be used: the variable is not set.",
        "6 problems; nothing was started"}) {
    EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
  }
  EXPECT_FALSE(fs::exists(stage.agent().state())) << "nothing was made";
}

TEST(Refusal, a_plugin_of_the_wrong_kind_ends_with_three) {
  Stage stage(1, [](testkit::AgentSetup& setup) { setup.provider = "github"; });
  EXPECT_EQ(exit_code_of_run(stage), 3);
  EXPECT_NE(said_by_run(stage).find(
                "the plugin github is no execution-provider; it offers gateway, package-source"),
            std::string::npos);
}

TEST(Refusal, a_secret_file_that_is_missing_ends_with_three) {
  Stage stage(1);
  fs::remove(stage.path("token"));
  EXPECT_EQ(exit_code_of_run(stage), 3);
  EXPECT_NE(said_by_run(stage).find("cannot be used: there is no such file."), std::string::npos);
}

TEST(Refusal, a_configuration_file_that_is_missing_ends_with_three) {
  Stage stage(1);
  fs::remove(stage.agent().config_file());
  EXPECT_EQ(exit_code_of_run(stage), 3);
}

TEST(Refusal, a_missing_required_plugin_ends_with_six) {
  Stage stage(1, [](testkit::AgentSetup& setup) { setup.provider = "not-there"; });
  EXPECT_EQ(exit_code_of_run(stage), 6);
}

TEST(Refusal, a_token_that_others_can_read_is_not_used) {
  Stage stage(1);
  fs::permissions(stage.path("token"), fs::perms(0644));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.agent().status_json().find("token") != std::string::npos; }));
  EXPECT_EQ(stage.github()->summary().registered_total, 0);
  // Mended while the agent runs.
  fs::permissions(stage.path("token"), fs::perms(0600));
  EXPECT_TRUE(stage.settles(1));
}

TEST(Refusal, a_token_with_a_trailing_newline_is_trimmed) {
  Stage stage(1);
  std::ofstream(stage.path("token"), std::ios::app) << "\n";
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  EXPECT_TRUE(stage.settles(1));
}

TEST(Refusal, a_plugin_directory_that_others_may_write_is_not_used) {
  testkit::TemporaryDirectory plugins(0755);
  for (const auto& entry : fs::directory_iterator(RMGR_PLUGIN_DIR)) {
    if (entry.is_regular_file()) fs::copy_file(entry.path(), plugins / entry.path().filename().string());
  }
  Stage stage(1, [&](testkit::AgentSetup& setup) { setup.plugins = plugins.path(); });
  fs::permissions(plugins.path(), fs::perms(0757));
  EXPECT_EQ(exit_code_of_run(stage), 6);
  fs::permissions(plugins.path(), fs::perms(0755));
  fs::permissions(plugins / "native.so", fs::perms(0666));
  EXPECT_EQ(exit_code_of_run(stage), 6);
  fs::permissions(plugins / "native.so", fs::perms(0644));
  ASSERT_TRUE(stage.agent().start());
}

// The machine's id is what tells a copied or moved disk from the machine that it was written on.
TEST(Refusal, a_state_directory_of_another_machine_waits_for_adoption) {
  Stage stage(1);
  ASSERT_TRUE(stage.agent().start());
  ASSERT_EQ(stage.agent().terminate(), 0);
  ASSERT_TRUE(testkit::run_sql(stage.agent().state() + "/journal.db", "UPDATE meta SET machine = 'another'"));
  EXPECT_EQ(exit_code_of_run(stage), 5);
  int exit_code = 1;
  const std::string said = testkit::run_program(
      {stage.setup().bin + "/runner-manager", "adopt-installation", "--config", stage.agent().config_file()},
      &exit_code);
  EXPECT_EQ(exit_code, 0) << said;
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  EXPECT_TRUE(stage.settles(1));
}

TEST(Refusal, a_root_that_everybody_may_write_is_not_used) {
  Stage stage(1);
  const std::string root = stage.agent().runtimes() + "/demo";
  fs::create_directory(root);
  fs::permissions(root, fs::perms(0777));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] {
    const auto policies = stage.agent().policies();
    return !policies.empty() && policies.front().limited_by == "root_refused" &&
           !policies.front().remedy.empty();
  }));
  EXPECT_EQ(stage.github()->summary().registered_total, 0);
}

TEST(Refusal, an_archive_that_is_not_what_was_published_is_never_run) {
  Stage stage(1);
  stage.github()->withdraw_packages();
  stage.github()->offer_package(emulator::built_runner_package(), std::string(64, 'a'));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] {
    for (const auto& attempt : stage.agent().attempts()) {
      if (attempt.state == "cleaned") return true;
    }
    return false;
  }));
  EXPECT_EQ(stage.github()->summary().registered_total, 0);
  EXPECT_EQ(stage.agent().attempts().back().outcome, "failed");
}

TEST(CommandLine, attempts_are_readable_without_a_daemon) {
  Stage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(stage.settles(1));
  ASSERT_EQ(stage.agent().terminate(), 0);
  const auto attempts = stage.agent().attempts();
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts.front().outcome, "completed_job");
  int exit_code = 0;
  testkit::run_program(
      {stage.setup().bin + "/runner-manager", "status", "--config", stage.agent().config_file()}, &exit_code);
  EXPECT_EQ(exit_code, 4);
}

}  // namespace
}  // namespace integration
