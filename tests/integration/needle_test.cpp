// Every secret that goes in is a needle: the token, the proxy's user and password, and each one-time
// registration with the credential inside it. They are searched for in everything that the agent writes,
// shows or answers, over a run in which requests fail and the daemon is killed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "stage.hpp"
#include "support/everything.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPassword = "hay-in-a-needle-stack-7731";
constexpr const char* kProxyHeader =
    "bmVlZGxlOmhheS1pbi1hLW5lZWRsZS1zdGFjay03NzMx";  // user:password as it is sent
constexpr const char* kJitVariable = "ACTIONS_RUNNER_INPUT_JITCONFIG=";

// What the environments of this machine's processes hold.
struct Processes {
  std::string environments;             // but the listeners' own
  std::set<std::string> registrations;  // what listeners were started with
};

Processes look_at_processes(const std::string& runtimes) {
  Processes seen;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string environment = testkit::contents(entry.path() / "environ");
    const std::size_t at = environment.find(kJitVariable);
    // Other tests of this machine have runners of their own.
    if (at == std::string::npos || environment.find(runtimes) == std::string::npos) {
      seen.environments += environment;
      continue;
    }
    const std::size_t begin = at + std::string_view(kJitVariable).size();
    seen.registrations.insert(environment.substr(begin, environment.find('\0', begin) - begin));
    // Of a process that ends between the two looks nothing is left to read.
    const std::string words = testkit::contents(entry.path() / "cmdline");
    EXPECT_TRUE(words.empty() || words.find("Runner.") != std::string::npos)
        << "only a runner's own processes are given its registration";
  }
  return seen;
}

class Needle : public ::testing::Test {
 protected:
  Needle() : stage(2, use_proxy) {
    fs::create_directory(seen());
    fs::permissions(seen(), fs::perms(0777));
  }

  static void use_proxy(testkit::AgentSetup& setup) {
    const auto secret = [&setup](const std::string& name, const std::string& text) {
      const std::string file = setup.directory + "/" + name;
      std::ofstream(file) << text << "\n";
      fs::permissions(file, fs::perms(0600));
      return "\"file:" + file + "\"";
    };
    setup.credential = "token: " + secret("needle-token", setup.token) + ", proxy: \"" + setup.github_url +
                       "\", proxy_credentials: " + secret("needle-proxy", "needle:" + std::string(kPassword));
    // A launch that a kill interrupted holds its place for as long as this.
    const std::vector<std::pair<std::string, std::string>> timeouts{{"jit_handoff", "3s"}};
    setup.policies = {
        {.name = "once", .labels = {"once"}, .timeouts = timeouts},
        {.name = "slots", .labels = {"slots"}, .workspace = "persistent", .timeouts = timeouts}};
  }

  [[nodiscard]] std::string seen() const { return stage.path("runtimes/seen"); }

  // A job that shows what it knows of itself to this test, and leaves it where the runner keeps its own
  // files and where it works.
  [[nodiscard]] std::string script() const {
    return "top=$PWD; while [ ! -e $top/.credentials ] && [ $top != / ]; do top=$(dirname $top); done; "
           "cat $top/.credentials > " +
           seen() + "/$$; cat $top/.credentials; cp $top/.credentials $top/_diag/mine.log; exit 3";
  }

  void collect() {
    const Processes processes = look_at_processes(stage.agent().runtimes());
    registrations.insert(processes.registrations.begin(), processes.registrations.end());
    haystack += processes.environments;
    command_lines += testkit::all_command_lines();
    for (const std::vector<std::string>& words : {std::vector<std::string>{"status"},
                                                  {"status", "--json"},
                                                  {"attempts"},
                                                  {"attempts", "--json"},
                                                  {"explain"},
                                                  {"explain", "--json"},
                                                  {"config", "check", stage.agent().config_file()}}) {
      std::vector<std::string> command{stage.setup().bin + "/runner-manager"};
      command.insert(command.end(), words.begin(), words.end());
      if (words.front() != "config") command.insert(command.end(), {"--config", stage.agent().config_file()});
      haystack += testkit::run_program(command, nullptr);
    }
  }

  [[nodiscard]] bool collect_until(const std::function<bool()>& holds) {
    return eventually(
        [&] {
          collect();
          return holds();
        },
        std::chrono::seconds(120));
  }

  // What jobs showed of themselves: the credential inside each registration.
  [[nodiscard]] std::set<std::string> credentials() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(seen()))
      found.merge(testkit::credentials_in(testkit::contents(entry.path())));
    return found;
  }

  Stage stage;
  std::string haystack, command_lines;
  std::set<std::string> registrations;
};

TEST_F(Needle, is_nowhere_after_a_run_with_faults) {
  // Answers that carry secrets themselves, as a proxy's or a broken server's may.
  const std::string echo = std::string(R"({"message": "cannot do that with )") + kPassword + " and " +
                           stage.setup().token + R"("})";
  for (const auto& [path, status] : {std::pair{"*/generate-jitconfig", 500},
                                     {"*/actions/runs*", 502},
                                     {"*/actions/runners*", 503},
                                     {"*/runners/downloads", 500}})
    stage.github()->add_fault(
        {.action = "status", .path = path, .skip = 1, .count = 2, .status = status, .body = echo});
  stage.github()->add_fault({.action = "execute_then_drop", .path = "*/generate-jitconfig", .skip = 3});
  stage.github()->add_fault({.action = "truncate", .path = "*/generate-jitconfig", .skip = 4});
  ASSERT_TRUE(stage.agent().start());
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    // One job that stays until it was seen, under the daemon that is killed and under the next one.
    const std::string go = stage.path("runtimes/go-" + std::to_string(round));
    const int before = stage.github()->summary().registered_total;
    stage.queue(1, Stage::wait_for(go), {"self-hosted", round % 2 == 0 ? "once" : "slots"});
    stage.queue(1, script(), {"self-hosted", round % 2 == 0 ? "slots" : "once"});
    stage.queue(1, script(), {"self-hosted", "once"});
    ASSERT_TRUE(collect_until([&] { return stage.github()->summary().registered_total > before; }))
        << "nothing registered before kill " << round;
    stage.agent().kill_hard();
    collect();
    ASSERT_TRUE(stage.agent().start());
    ASSERT_TRUE(collect_until([&] { return static_cast<int>(registrations.size()) > round; }))
        << "no registration was seen in round " << round;
    testkit::run_program({"/usr/bin/touch", go}, nullptr);
    ASSERT_TRUE(collect_until([&] { return stage.github()->summary().completed == 3 * (round + 1); }))
        << "jobs of round " << round << " did not end";
  }
  ASSERT_TRUE(collect_until([&] {
    const auto live = stage.agent().live_attempts();
    return std::all_of(live.begin(), live.end(), [](const testkit::AttemptView& attempt) {
      return attempt.state == "cleaned" && attempt.owes_deregistration;
    });
  }));
  haystack += testkit::journal_dump(stage.agent().state() + "/journal.db");
  ASSERT_EQ(stage.agent().terminate(), 0);

  haystack += testkit::contents(stage.agent().log_file()) + testkit::contents(stage.path("stderr.log")) +
              testkit::contents(stage.agent().config_file());
  for (const std::string& root : {stage.agent().state(), stage.agent().runtimes()}) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      haystack += entry.path().string() + "\n";
    }
    haystack += testkit::files_below(
        root, [this](const fs::path& file) { return file.string().rfind(seen(), 0) == 0; });
  }

  const std::set<std::string> inside = credentials();
  ASSERT_GE(inside.size(), 4U) << "the search needs something to search for";
  ASSERT_GE(registrations.size(), 2U);
  ASSERT_NE(haystack.find("attempt_granted"), std::string::npos);
  std::set<std::string> needles{kPassword, kProxyHeader};
  needles.insert(inside.begin(), inside.end());
  needles.insert(registrations.begin(), registrations.end());
  for (const std::string& needle : needles) {
    EXPECT_EQ(command_lines.find(needle), std::string::npos) << "on a command line: " << needle;
    EXPECT_EQ(haystack.find(needle), std::string::npos) << needle;
  }
  // The emulator of this very test is told the token on its command line; it is no part of the agent.
  EXPECT_EQ(haystack.find(stage.setup().token), std::string::npos);
}

}  // namespace
}  // namespace integration
