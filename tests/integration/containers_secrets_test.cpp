// The one-time registration is in the environment of the listener and nowhere else.
#include <filesystem>
#include <set>

#include "containers.hpp"
#include "support/everything.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kVariable = "ACTIONS_RUNNER_INPUT_JITCONFIG=";

struct Holder {
  std::string words;  // its command line
  std::string secret;
};

// Every process of this namespace, those of containers included, whose environment holds a registration.
std::vector<Holder> holders() {
  std::vector<Holder> all;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string environment = testkit::contents(entry.path() / "environ");
    const std::size_t at = environment.find(kVariable);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + kVariable.size();
    all.push_back({testkit::contents(entry.path() / "cmdline"),
                   environment.substr(begin, environment.find('\0', begin) - begin)});
  }
  return all;
}

std::string all_that_the_engine_shows(const std::string& container) {
  std::string all = ask("GET", "/containers/" + container + "/json") +
                    ask("GET", "/containers/json?all=true&size=true") +
                    ask("GET", "/containers/" + container + "/top?ps_args=-eww%20-o%20pid,args") +
                    ask("GET", "/networks") + ask("GET", "/volumes") + ask("GET", "/images/json") +
                    ask("GET", "/images/" + engine().image + "/history") + ask("GET", "/info") +
                    ask("GET", "/events?since=0&until=" + std::to_string(::time(nullptr)));
  // Without a log driver there is nothing to show, which some engines call an error.
  try {
    all += ask("GET", "/containers/" + container + "/logs?stdout=1&stderr=1");
  } catch (const std::exception&) {
  }
  return all;
}

TEST(ContainerSecrets, are_in_the_listener_and_nowhere_else) {
  ContainerStage stage(1);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, reports("cat /proc/self/environ; for p in /proc/[0-9]*; do cat $p/cmdline; echo; done"));
  ASSERT_TRUE(stage.at_work(1));
  const std::string id = only_container();
  const std::string report = report_of(id);
  const auto found = holders();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found.front().words, HasSubstr("Runner.Listener"));
  const std::string& secret = found.front().secret;
  ASSERT_GT(secret.size(), 100U) << "the search needs something to search for";

  EXPECT_THAT(report, HasSubstr("Runner.Listener"));
  EXPECT_THAT(report, Not(HasSubstr(secret))) << "in what a job sees";
  EXPECT_THAT(testkit::all_command_lines(), Not(HasSubstr(secret)));
  const std::string shown = all_that_the_engine_shows(id);
  EXPECT_THAT(shown, HasSubstr("runner-manager.attempt"));
  EXPECT_EQ(shown.find(secret), std::string::npos) << "in what the engine shows";
  const auto everywhere = [&] {
    std::string all = testkit::contents(stage.agent().log_file()) +
                      testkit::contents(stage.path("stderr.log")) +
                      testkit::journal_dump(stage.agent().state() + "/journal.db") +
                      stage.agent().status_json() + testkit::contents(engine().state + "/engine.log");
    all += testkit::files_below(stage.agent().state(),
                                [](const fs::path& file) { return file.filename() == "reserve"; });
    return all;
  };
  EXPECT_EQ(everywhere().find(secret), std::string::npos) << "in what the agent or the engine keeps";
  // Layers, volumes, the container's own files, and what the engine keeps about it.
  EXPECT_EQ(testkit::file_below_with(engine().state, secret), "");
  const testkit::TemporaryDirectory scratch;
  testkit::must_run({"/usr/bin/curl", "--silent", "--fail", "--unix-socket", engine().socket, "--output",
                     scratch / "exported", "http://engine/v1.40/containers/" + id + "/export"},
                    "the engine exports no container");
  EXPECT_EQ(testkit::file_below_with(scratch.path(), secret), "");

  release(id);
  ASSERT_TRUE(stage.settles(1));
  stage.expect_each_ran_once();
  EXPECT_TRUE(holders().empty());
  EXPECT_EQ(everywhere().find(secret), std::string::npos);
  EXPECT_EQ(testkit::file_below_with(engine().state, secret), "");
  ASSERT_EQ(stage.agent().terminate(), 0);
  EXPECT_EQ(testkit::file_below_with(stage.agent().state(), secret), "");
}

// While it waits for its secret, and when it never gets one.
TEST(ContainerSecrets, of_a_launch_that_fails_are_nowhere) {
  ContainerStage stage(1);
  const auto fault =
      stage.github()->add_fault({.action = "delay", .path = "*/generate-jitconfig", .delay_ms = 3'000});
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return stage.github()->fault_hits(fault) > 0; }));
  const std::string shown = ask("GET", "/containers/" + only_container() + "/json");
  EXPECT_THAT(shown, Not(HasSubstr(std::string(kVariable))));
  EXPECT_TRUE(holders().empty());
  drop_container(only_container());
  ASSERT_TRUE(stage.settles(1));
  stage.expect_each_ran_once();
}

}  // namespace
}  // namespace integration
