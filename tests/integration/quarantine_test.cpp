// A plugin that takes the agent along.
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "stage.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;

void copy_plugins(const std::string& from, const std::string& to, const std::string& prefix) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name.starts_with(prefix)) fs::copy_file(entry.path(), to + "/" + name);
  }
}

// A second gateway, and a policy that it serves.
void add_gateway(Stage& stage, const std::string& plugin) {
  std::stringstream text;
  text << std::ifstream(stage.agent().config_file()).rdbuf();
  std::string yaml = text.str();
  const std::string list = "gateways:\n";
  yaml.insert(yaml.find(list) + list.size(),
              "  - name: second\n    plugin: " + plugin + "\n    config: {}\n");
  const std::string policies = "policies:\n";
  const std::size_t first = yaml.find(policies) + policies.size();
  yaml.insert(yaml.find('\n', first) + 1, "    gateway: github\n");
  yaml += "  - name: other\n    target: acme/gadgets\n    gateway: second\n    labels: [other]\n    root: " +
          stage.agent().runtimes() + "/other\n    max: 1\n";
  std::ofstream(stage.agent().config_file()) << yaml;
}

bool crashes(Stage& stage) {
  (void)stage.agent().start();
  siginfo_t ended{};
  const bool did = eventually([&] {
    ended.si_pid = 0;
    return ::waitid(P_PID, static_cast<id_t>(stage.agent().pid()), &ended, WEXITED | WNOHANG | WNOWAIT) !=
               0 ||
           ended.si_pid != 0;
  });
  stage.agent().kill_hard();
  return did;
}

TEST(Quarantine, a_plugin_that_crashes_the_agent_twice_is_left_out_and_no_runner_is_lost) {
  testkit::TemporaryDirectory plugins(0755);
  copy_plugins(RMGR_PLUGIN_DIR, plugins.path(), "");
  copy_plugins(RMGR_BUILD_DIR "/zoo", plugins.path(), "crashes-in-demand");
  Stage stage(1, [&](testkit::AgentSetup& setup) { setup.plugins = plugins.path(); });
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().in_progress == 1; }));
  ASSERT_EQ(stage.agent().terminate(), 0);

  add_gateway(stage, "crashes-in-demand");
  ASSERT_TRUE(crashes(stage));
  ASSERT_TRUE(crashes(stage)) << "once may have been bad luck";
  ASSERT_TRUE(stage.agent().start());
  EXPECT_NE(stage.agent().status_json().find("so this file is quarantined"), std::string::npos)
      << stage.agent().status_json();
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(stage.github()->jobs().front().starts, 1);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);

  int exit_code = 1;
  testkit::run_program({stage.setup().bin + "/runner-manager", "plugin", "release", "crashes-in-demand",
                        "--config", stage.agent().config_file()},
                       &exit_code);
  EXPECT_EQ(exit_code, 0);
  EXPECT_EQ(stage.agent().terminate(), 0);
  EXPECT_TRUE(crashes(stage)) << "it is tried again";
}

TEST(Quarantine, a_plugin_that_uses_up_its_stack_is_left_out_as_well) {
  testkit::TemporaryDirectory plugins(0755);
  copy_plugins(RMGR_PLUGIN_DIR, plugins.path(), "");
  copy_plugins(RMGR_BUILD_DIR "/zoo", plugins.path(), "overflows-in-demand");
  Stage stage(1, [&](testkit::AgentSetup& setup) { setup.plugins = plugins.path(); });
  add_gateway(stage, "overflows-in-demand");
  ASSERT_TRUE(crashes(stage));
  ASSERT_TRUE(crashes(stage));
  ASSERT_TRUE(stage.agent().start());
  EXPECT_NE(stage.agent().status_json().find("so this file is quarantined"), std::string::npos)
      << stage.agent().status_json();
  EXPECT_EQ(stage.agent().terminate(), 0);
}

TEST(Quarantine, whoever_kills_the_agent_blames_no_plugin) {
  Stage stage(1);
  for (int i = 0; i < 4; ++i) {
    (void)stage.agent().start();
    stage.agent().kill_hard();
  }
  // As early as its plugins are loaded, too.
  for (int i = 0; i < 4; ++i) {
    testkit::run_program({"/usr/bin/timeout", "-s", "KILL", "0.2", stage.setup().bin + "/runner-manager",
                          "run", "--config", stage.agent().config_file()},
                         nullptr);
  }
  ASSERT_TRUE(stage.agent().start());
  EXPECT_EQ(stage.agent().status_json().find("file is quarantined"), std::string::npos);
  stage.queue(1, "true");
  EXPECT_TRUE(stage.settles(1));
}

}  // namespace
}  // namespace integration
