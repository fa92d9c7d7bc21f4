// The operator's hooks around real jobs, on every way that an attempt can end.
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "stage.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;

// Notes its name, the attempt, how many processes the job's account has, and whether the runtime is there.
constexpr const char* kNote =
    R"sh(n=$(cat /proc/[0-9]*/status 2>/dev/null | grep -cE "^Uid:.*[[:space:]]$RUNNER_MANAGER_ACCOUNT([[:space:]]|$)")
d=gone; [ -d "$RUNNER_MANAGER_RUNTIME" ] && d=there
echo $RUNNER_MANAGER_HOOK $RUNNER_MANAGER_ATTEMPT $n $d >> )sh";

// A hook script before and one after, and what they noted.
class HookFiles {
 public:
  explicit HookFiles(const std::string& before = "", const std::string& after = "") {
    write("before", before);
    write("after", after);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return directory_ / name; }
  [[nodiscard]] std::string config(int before_s = 60, int after_s = 60) const {
    return ", hooks: {before: {command: [" + path("before") +
           "], timeout_seconds: " + std::to_string(before_s) + "}, after: {command: [" + path("after") +
           "], timeout_seconds: " + std::to_string(after_s) + "}}";
  }
  [[nodiscard]] std::string notes() const { return testkit::contents(path("notes")); }
  // Of one attempt, without its id.
  [[nodiscard]] std::string notes_of(const std::string& attempt) const {
    std::istringstream all(notes());
    std::string told;
    for (std::string hook, id, processes, runtime; all >> hook >> id >> processes >> runtime;) {
      if (id == attempt) told += hook + ' ' + processes + ' ' + runtime + '\n';
    }
    return told;
  }
  void write(const std::string& name, const std::string& rest) const {
    std::ofstream(path(name)) << "#!/bin/sh\n" << kNote << path("notes") << '\n' << rest << '\n';
    fs::permissions(path(name), fs::perms(0755));
  }

 private:
  testkit::TemporaryDirectory directory_;
};

std::function<void(testkit::AgentSetup&)> with(
    const std::string& hooks, std::vector<std::pair<std::string, std::string>> timeouts = {}) {
  return [hooks, timeouts](testkit::AgentSetup& setup) {
    setup.provider_more = hooks;
    setup.policies.front().timeouts = timeouts;
  };
}

constexpr const char* kBoth = "before 0 there\nafter 0 there\n";

// A launch that fails is followed by others for as long as its job waits.
bool oldest_is_cleaned(Stage& stage) {
  const auto attempts = stage.agent().attempts();
  return !attempts.empty() && attempts.back().state == "cleaned";
}

bool all_cleaned(Stage& stage, std::size_t at_least = 1) {
  const auto attempts = stage.agent().attempts();
  return attempts.size() >= at_least && std::all_of(attempts.begin(), attempts.end(),
                                                    [](const auto& each) { return each.state == "cleaned"; });
}

// ---- every way out: before once, after once, when the job's processes are gone and its directory is not
struct WayOut {
  const char* name;
  const char* outcome;  // of the first attempt
  std::vector<std::pair<std::string, std::string>> timeouts;
  const char* job;
  std::function<void(Stage&)> happens;
};

void PrintTo(const WayOut& way, std::ostream* out) { *out << way.name; }

class EveryWayOut : public ::testing::TestWithParam<WayOut> {};

TEST_P(EveryWayOut, meets_both_hooks_once) {
  const WayOut& way = GetParam();
  const HookFiles files;
  Stage stage(1, with(files.config(), way.timeouts));
  ASSERT_TRUE(stage.agent().start());
  if (std::string(way.name) == "refused_registration")
    stage.github()->add_fault(
        {.action = "status", .path = "*/generate-jitconfig", .count = -1, .status = 422});
  if (std::string(way.name) == "idle") stage.github()->add_fault({.action = "withhold", .for_ms = 120'000});
  if (std::string(way.name) == "job_timeout" || std::string(way.name) == "listener_killed")
    stage.github()->change_settings({.lost_after_ms = 1'000});
  stage.queue(1, way.job);
  if (way.happens) way.happens(stage);
  ASSERT_TRUE(eventually([&] { return all_cleaned(stage); }));
  const auto attempt = stage.agent().attempts().back();
  EXPECT_EQ(attempt.outcome + '/' + attempt.reason, way.outcome);
  EXPECT_EQ(files.notes_of(attempt.id), kBoth);
  EXPECT_EQ(stage.agent().leftovers().directories, 0);
}

bool at_work(Stage& stage) {
  return eventually([&] { return stage.github()->summary().in_progress == 1; });
}

INSTANTIATE_TEST_SUITE_P(Hooks, EveryWayOut,
                         ::testing::Values(WayOut{"done", "completed_job/", {}, "true", {}},
                                           WayOut{"failed_job", "completed_job/", {}, "exit 3", {}},
                                           WayOut{"left_daemons",
                                                  "completed_job/",
                                                  {},
                                                  "(setsid sleep 600 </dev/null >/dev/null 2>&1 &); true",
                                                  {}},
                                           WayOut{"refused_registration",
                                                  "failed/jit_refused",
                                                  {},
                                                  "true",
                                                  [](Stage& stage) {
                                                    EXPECT_TRUE(
                                                        eventually([&] { return all_cleaned(stage); }));
                                                    for (const auto& job : stage.github()->jobs())
                                                      stage.github()->cancel(job.id);
                                                  }},
                                           WayOut{"idle",
                                                  "exited_idle_without_work/",
                                                  {{"idle", "2s"}},
                                                  "true",
                                                  [](Stage& stage) {
                                                    EXPECT_TRUE(eventually([&] {
                                                      return stage.github()->summary().registrations == 1;
                                                    }));
                                                    stage.github()->cancel(stage.github()->jobs().front().id);
                                                  }},
                                           WayOut{"job_timeout",
                                                  "failed/job_timed_out",
                                                  {{"job", "1s"}, {"stop_grace", "300ms"}},
                                                  "trap '' TERM INT; sleep 60 & wait; sleep 60",
                                                  {}},
                                           WayOut{"listener_killed", "orphaned/", {}, "kill -9 -1", {}},
                                           WayOut{"daemon_killed_while_it_runs",
                                                  "completed_job/",
                                                  {},
                                                  "sleep 3",
                                                  [](Stage& stage) {
                                                    ASSERT_TRUE(at_work(stage));
                                                    stage.agent().kill_hard();
                                                    ASSERT_TRUE(stage.agent().start());
                                                  }},
                                           WayOut{"daemon_gone_when_it_ends",
                                                  "completed_job/",
                                                  {},
                                                  "sleep 1",
                                                  [](Stage& stage) {
                                                    ASSERT_TRUE(at_work(stage));
                                                    stage.agent().kill_hard();
                                                    ASSERT_TRUE(eventually([&] {
                                                      return stage.github()->summary().completed == 1;
                                                    }));
                                                    ASSERT_TRUE(stage.agent().start());
                                                  }},
                                           WayOut{"drained_and_started_again",
                                                  "completed_job/",
                                                  {},
                                                  "sleep 3",
                                                  [](Stage& stage) {
                                                    ASSERT_TRUE(at_work(stage));
                                                    ASSERT_EQ(stage.agent().terminate(), 0);
                                                    ASSERT_TRUE(stage.agent().start());
                                                  }}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Hooks, surround_the_job) {
  const HookFiles files;
  Stage stage(1, with(files.config()));
  ASSERT_TRUE(stage.agent().start());
  const std::string seen = stage.path("runtimes/seen");
  std::ofstream(seen).close();
  fs::permissions(seen, fs::perms(0666));
  fs::permissions(fs::path(files.path("notes")).parent_path(), fs::perms(0755));
  stage.queue(1, "cat " + files.path("notes") + " >> " + seen);
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(testkit::contents(seen).rfind("before", 0), 0U) << testkit::contents(seen);
  EXPECT_EQ(testkit::contents(seen).find("after"), std::string::npos);
  EXPECT_EQ(files.notes_of(stage.agent().attempts().front().id), kBoth);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
  EXPECT_EQ(stage.agent().terminate(), 0);
}

TEST(Hooks, what_the_first_one_prepares_belongs_to_the_job) {
  const HookFiles files("echo given > $RUNNER_MANAGER_RUNTIME/prepared");
  Stage stage(1, with(files.config()));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "cd ${PWD%%/_work/*} && [ \"$(cat prepared)\" = given ] && echo changed > prepared");
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(stage.github()->jobs().front().result, "success");
}

TEST(Hooks, one_that_fails_before_registers_nothing_and_is_explained) {
  const HookFiles files("exit 5");
  Stage stage(1, with(files.config()));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return oldest_is_cleaned(stage); }));
  EXPECT_NE(testkit::contents(stage.agent().log_file()).find("ended with 5; nothing was registered"),
            std::string::npos);
  const auto attempt = stage.agent().attempts().back();
  EXPECT_EQ(attempt.reason, "process_start_failed");
  EXPECT_EQ(files.notes_of(attempt.id), "before 0 there\nbefore 0 there\nbefore 0 there\nafter 0 there\n");
  EXPECT_EQ(stage.github()->summary().registered_total, 0);
  // The operator mends it.
  files.write("before", "");
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(stage.github()->jobs().front().result, "success");
}

TEST(Hooks, one_that_hangs_before_is_ended_and_fails_the_launch) {
  const HookFiles files("setsid sleep 600 & echo $! > $(dirname $0)/pid; sleep 600");
  Stage stage(1, with(files.config(1)));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return oldest_is_cleaned(stage); }));
  EXPECT_EQ(stage.agent().attempts().back().reason, "process_start_failed");
  EXPECT_EQ(stage.github()->summary().registered_total, 0);
  const pid_t left = std::atoi(testkit::contents(files.path("pid")).c_str());
  ASSERT_GT(left, 0);
  EXPECT_TRUE(eventually([&] { return ::kill(left, 0) != 0; }));
}

TEST(Hooks, one_that_fails_or_hangs_afterwards_delays_the_cleaning_and_no_more) {
  const HookFiles files("", "setsid sleep 600 & echo $! > $(dirname $0)/pid; sleep 600");
  Stage stage(1, with(files.config(60, 3)));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(files.notes_of(stage.agent().attempts().front().id), kBoth);
  const pid_t left = std::atoi(testkit::contents(files.path("pid")).c_str());
  ASSERT_GT(left, 0);
  EXPECT_TRUE(eventually([&] { return ::kill(left, 0) != 0; }));
  EXPECT_NE(testkit::contents(stage.agent().log_file()).find("takes longer than its 3 s"), std::string::npos);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
}

TEST(Hooks, one_that_others_can_write_starts_nothing_and_is_named) {
  const HookFiles files;
  fs::permissions(files.path("after"), fs::perms(0777));
  Stage stage(1, with(files.config()));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] {
    const auto policies = stage.agent().policies();
    return !policies.empty() && policies.front().remedy.find("can be changed by others") != std::string::npos;
  }));
  EXPECT_TRUE(stage.agent().attempts().empty());
}

// ---- the daemon dies in the middle of one
TEST(Hooks, a_daemon_that_is_killed_during_the_one_before_leaves_no_hook_alone) {
  const HookFiles files("echo $$ > $(dirname $0)/pid; sleep 600");
  Stage stage(1, with(files.config(80), {{"jit_handoff", "2s"}}));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return !testkit::contents(files.path("pid")).empty(); }));
  const pid_t hook = std::atoi(testkit::contents(files.path("pid")).c_str());
  stage.agent().kill_hard();
  ASSERT_EQ(::kill(hook, 0), 0) << "it goes on under its supervisor";
  files.write("before", "");
  ASSERT_TRUE(stage.agent().start());
  EXPECT_TRUE(eventually([&] { return ::kill(hook, 0) != 0; }));
  ASSERT_TRUE(stage.settles(1, std::chrono::seconds(180)));
  const auto first = stage.agent().attempts().back();
  EXPECT_EQ(first.outcome, "failed");
  EXPECT_EQ(files.notes_of(first.id), kBoth);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
}

TEST(Hooks, a_daemon_that_is_killed_during_the_one_after_waits_for_it_and_does_not_repeat_it) {
  const HookFiles files("", "while [ ! -e $(dirname $0)/go ]; do sleep 0.05; done");
  Stage stage(1, with(files.config()));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return files.notes().find("after") != std::string::npos; }));
  for (int kill = 0; kill < 2; ++kill) {
    stage.agent().kill_hard();
    ASSERT_TRUE(stage.agent().start());
  }
  EXPECT_FALSE(all_cleaned(stage));
  std::ofstream(files.path("go")).close();
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(files.notes_of(stage.agent().attempts().front().id), kBoth);
  EXPECT_EQ(stage.agent().leftovers().sum(), 0);
}

TEST(Hooks, one_that_overruns_while_no_daemon_is_there_is_ended_in_time) {
  const HookFiles files("", "echo $$ > $(dirname $0)/pid; sleep 600");
  Stage stage(1, with(files.config(60, 2)));
  ASSERT_TRUE(stage.agent().start());
  stage.queue(1, "true");
  ASSERT_TRUE(eventually([&] { return !testkit::contents(files.path("pid")).empty(); }));
  const pid_t hook = std::atoi(testkit::contents(files.path("pid")).c_str());
  stage.agent().kill_hard();
  EXPECT_TRUE(eventually([&] { return ::kill(hook, 0) != 0; }));
  ASSERT_TRUE(stage.agent().start());
  ASSERT_TRUE(stage.settles(1));
  EXPECT_EQ(files.notes_of(stage.agent().attempts().front().id), kBoth);
}

}  // namespace
}  // namespace integration
