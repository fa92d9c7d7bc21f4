// What an operator changes and asks while the agent runs.
#include <csignal>
#include <fstream>
#include <sstream>

#include "stage.hpp"

namespace integration {
namespace {

class Operator : public ::testing::Test {
 protected:
  Operator() : stage(2) {}
  // The configuration with one text in place of another.
  void edit(const std::string& before, const std::string& after) {
    std::stringstream text;
    text << std::ifstream(stage.agent().config_file()).rdbuf();
    std::string yaml = text.str();
    const auto at = yaml.find(before);
    ASSERT_NE(at, std::string::npos) << before;
    yaml.replace(at, before.size(), after);
    std::ofstream(stage.agent().config_file()) << yaml;
  }
  std::string type(std::vector<std::string> words, int expected) {
    words.insert(words.begin(), stage.setup().bin + "/runner-manager");
    words.insert(words.end(), {"--socket", stage.agent().state() + "/control.sock"});
    int exit_code = -1;
    const std::string said = testkit::run_program(words, &exit_code);
    EXPECT_EQ(exit_code, expected) << said;
    return said;
  }
  int running() { return stage.github()->summary().in_progress; }

  Stage stage;
};

TEST_F(Operator, a_reload_changes_capacity_without_touching_a_runner) {
  ASSERT_TRUE(stage.agent().start());
  stage.queue(4, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return running() == 2; }));
  std::int64_t waiting = 0;
  for (const auto& job : stage.github()->jobs())
    waiting = job.starts == 0 ? job.id : waiting;
  // The look that began before the last runner started does not know yet that a job waits.
  std::string why;
  EXPECT_TRUE(eventually([&] {
    why = type({"explain", std::to_string(waiting)}, 0);
    return why.find("why: The host's capacity is used up") != std::string::npos;
  })) << why;
  EXPECT_NE(why.find("do:  Wait for a runner to end, or raise `host.capacity`."), std::string::npos) << why;
  edit("capacity: 2", "capacity: 4");
  type({"reload"}, 0);
  ASSERT_TRUE(eventually([&] { return running() == 4; }));
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(4));
  for (const auto& job : stage.github()->jobs())
    EXPECT_EQ(job.starts, 1);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
  EXPECT_EQ(stage.agent().terminate(), 0);
}

TEST_F(Operator, a_reload_that_is_refused_leaves_everything_as_it_was_and_says_so) {
  ASSERT_TRUE(stage.agent().start());
  edit("capacity: 2", "capacity: zwei");
  type({"reload"}, 1);
  edit("capacity: zwei", "capacity: 3");
  // What the agent says does not depend on what the file says now.
  EXPECT_NE(stage.agent().status_json().find("the last reload changed nothing: "), std::string::npos);
  EXPECT_NE(stage.agent().status_json().find("config.yaml:2:"), std::string::npos);
  edit("level: debug", "level: info");
  type({"reload"}, 1);
  EXPECT_NE(stage.agent().status_json().find("changes log, which only a start reads"), std::string::npos)
      << stage.agent().status_json();
  EXPECT_NE(stage.agent().status_json().find("\"capacity\":2"), std::string::npos);
  edit("level: info", "level: debug");
  ::kill(stage.agent().pid(), SIGHUP);
  EXPECT_TRUE(
      eventually([&] { return stage.agent().status_json().find("\"capacity\":3") != std::string::npos; }));
  EXPECT_EQ(stage.agent().status_json().find("changed nothing"), std::string::npos);
  EXPECT_EQ(stage.agent().terminate(), 0);
}

TEST_F(Operator, a_policy_that_is_removed_lets_its_runner_finish) {
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  edit("labels: [demo]", "labels: [demo]\n    state: draining");
  type({"reload"}, 0);
  stage.queue(1, "true");
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  const std::string policy = stage.agent().policies().front().name;
  const std::string why = type({"explain", policy}, 0);
  EXPECT_NE(why.find("why: The policy or the agent is draining"), std::string::npos) << why;
  edit("\n    state: draining", "");
  type({"reload"}, 0);
  ASSERT_TRUE(stage.settles(2));
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
  EXPECT_EQ(stage.agent().terminate(), 0);
}

TEST_F(Operator, an_attempt_that_runs_is_not_forgotten) {
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return running() == 1; }));
  const std::string id = stage.agent().live_attempts().front().id;
  ASSERT_TRUE(eventually([&] { return stage.agent().live_attempts().front().state == "busy"; }));
  type({"attempts", "forget", id}, 2);
  type({"attempts", "forget", id, "--proved-gone"}, 1);
  type({"attempts", "forget", "11111111-2222-4333-8444-555555555555", "--proved-gone"}, 1);
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(stage.agent().terminate(), 0);
}

}  // namespace
}  // namespace integration
