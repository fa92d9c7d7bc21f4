#include "crash/world.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "client/emulator_client.hpp"
#include "support/agent.hpp"
#include "support/everything.hpp"
#include "support/temporary.hpp"

namespace crash {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr const char* kRepository = "acme/widgets";
constexpr const char* kToken = "needle-of-the-personal-token";
constexpr seconds kPatience{75};

class World {
 public:
  explicit World(const Order& order)
      : order_(order), github_({.token = kToken, .repositories = {kRepository}}), agent_(setup()) {
    fs::create_directories(agent_.runtimes());
    fs::create_directory(directory_ / "marks");
    fs::permissions(directory_ / "marks", fs::perms(01777));
    for (const char* name : {"before", "after"})
      write_hook(name);
  }

  Verdict play() {
    if (order_.story == "restart") {
      restart();
    } else if (order_.story == "slots") {
      slots();
    } else if (order_.story == "overtime") {
      overtime();
    } else if (order_.story == "surplus") {
      surplus();
    } else {
      jobs();
    }
    look();
    end();
    if (!complained_) check_what_is_left();
    return std::move(verdict_);
  }

 private:
  [[nodiscard]] testkit::AgentSetup setup() const {
    testkit::AgentSetup setup;
    setup.directory = directory_.path();
    setup.bin = order_.daemon.empty() ? order_.bin : order_.daemon;
    setup.plugins = RMGR_PLUGIN_DIR;
    setup.github_url = github_.url();
    setup.token = kToken;
    setup.capacity = 2;
    setup.poll = "200ms";
    testkit::PolicySpec& policy = setup.policies.front();
    policy.timeouts = {{"jit_handoff", "2s"}, {"startup", "4s"}, {"idle", "1s"}};
    if (order_.story == "hooks") {
      setup.provider_more = ", hooks: {before: {command: [" + directory_ / "before" +
                            "]}, after: {command: [" + directory_ / "after" + "]}}";
    }
    policy.profile = {{"cpu", "2"}, {"memory", "1GiB"}, {"pids", "512"}};
    if (order_.story == "slots") {
      policy.workspace = "persistent";
      policy.max = 1;
    }
    if (order_.story == "overtime") {
      policy.timeouts.emplace_back("job", "2s");
      policy.timeouts.emplace_back("stop_grace", "300ms");
    }
    return setup;
  }

  // ---- the daemon ----
  void arm(bool armed) {
    std::vector<std::string> environment;
    if (armed && !order_.trace.empty()) environment.push_back("RMGR_CRASH_TRACE=" + order_.trace);
    if (armed && !order_.point.empty() && !verdict_.killed) {
      environment.push_back("RMGR_CRASH_AT=" + order_.point);
      // What was wrongly begun before its commit gets the time to show.
      if (order_.point.starts_with("journal.before.") || order_.point.starts_with("journal.within."))
        environment.emplace_back("RMGR_CRASH_LINGER_MS=250");
      environment.push_back("RMGR_CRASH_NTH=" + std::to_string(order_.nth));
    }
    agent_.set_environment(environment);
  }

  void start(bool armed) {
    armed_ = armed;
    arm(armed);
    if (!agent_.start()) stand_up();
  }

  // A daemon that a point killed is started again, once.
  void stand_up() {
    if (!agent_.ended()) return;
    if (!armed_ || order_.point.empty() || verdict_.killed) {
      if (!complained_) fail("the daemon ended by itself: " + last_words());
      complained_ = true;
    } else {
      verdict_.killed = true;
    }
    arm(true);
    if (!agent_.start() && !complained_) {
      complained_ = true;
      fail("the daemon did not start again: " + last_words());
    }
  }

  bool eventually(const std::function<bool()>& holds, seconds limit = kPatience) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!complained_ && std::chrono::steady_clock::now() < end) {
      stand_up();
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }

  void reload() {
    testkit::run_program({order_.bin + "/runner-manager", "reload", "--config", agent_.config_file()},
                         nullptr);
    stand_up();
  }

  void end() {
    if (complained_) return;
    if (agent_.terminate(seconds(30)) == 0) return;
    if (!agent_.ended()) return fail("the daemon did not end");
    stand_up();
    if (agent_.terminate(seconds(30)) != 0) fail("the daemon did not end with 0");
  }

  void check_cgroups() {
    for (const std::string& left : agent_.cgroup_directories())
      fail("left in a cgroup hierarchy: " + left);
  }

  // It takes long enough for a kill to find it at work.
  void write_hook(const std::string& name) const {
    const std::string note = "\n/bin/echo " + name + " $RUNNER_MANAGER_ATTEMPT ";
    const std::string into = " >> " + directory_ / "hooks.log";
    std::ofstream(directory_ / name) << "#!/bin/sh" << note << "begins" << into << "\nsleep 0.2" << note
                                     << "ends" << into << "\n";
    fs::permissions(directory_ / name, fs::perms(0755));
  }

  // ---- the stories ----
  // Each job leaves one line for each time it ran, and shows the credential that its runner had.
  void queue(const std::string& name, const std::string& rest) {
    github_->queue({.repository = kRepository,
                    .labels = {"self-hosted", "demo"},
                    .script = "echo ran >> " + directory_ / ("marks/" + name) +
                              "; cat ${PWD%%/_work/*}/.credentials >> " +
                              directory_ / ("marks/secret." + name) + "; " + rest,
                    .separate_runs = true});
    jobs_.insert(name);
  }

  void settle() {
    const bool settled = eventually([this] {
      const auto summary = github_->summary();
      return summary.completed == static_cast<int>(jobs_.size()) && summary.registrations == 0 &&
             uncleaned() == 0;
    });
    if (settled || complained_) return;
    const auto summary = github_->summary();
    std::ostringstream what;
    what << "not settled: " << summary.queued << " queued, " << summary.in_progress << " at work, "
         << summary.completed << " completed of " << jobs_.size() << ", " << summary.registrations
         << " registered;";
    for (const auto& attempt : agent_.live_attempts())
      what << ' ' << attempt.id.substr(0, 8) << ' ' << attempt.state << '/' << attempt.pending << '/'
           << attempt.reason;
    fail(what.str());
  }

  void jobs() {
    start(true);
    queue("one", "true");
    queue("two", "sleep 0.3");
    settle();
  }

  // One slot for two jobs: the second one comes to what the first one kept.
  void slots() {
    start(true);
    for (const char* name : {"one", "two"}) {
      queue(name, "cd ${PWD%%/_work/*} && echo " + std::string(name) + " >> _work/kept && touch beside");
      settle();
    }
    const std::string slot = agent_.runtimes() + "/demo/s1";
    if (complained_) return;
    if (names_below(slot) != "_work ") fail("in the slot: " + names_below(slot));
    if (testkit::contents(slot + "/_work/kept") != "one\ntwo\n") fail("the slot did not keep its work");
  }

  // A job that is over time and does not care, and whose registration GitHub does not delete at once.
  void overtime() {
    github_->change_settings({.lost_after_ms = 1'000});
    may_fail_ = true;
    start(true);
    queue("one", "trap '' TERM INT; sleep 60 & wait; sleep 60");
    eventually([this] { return github_->summary().in_progress == 1; });
    github_->add_fault({.action = "status", .path = "*/actions/runners/*", .count = 1, .status = 500});
    settle();
  }

  void restart() {
    start(false);
    queue("one", waits());
    eventually([this] { return github_->summary().in_progress == 1; });
    agent_.kill_hard();
    start(true);
    reload();
    queue("two", "true");
    std::ofstream(directory_ / "marks/go") << "go";
    settle();
  }

  // A runner whose job was taken back, and one that neither goes nor listens when it is told to.
  void surplus() {
    start(true);
    const auto fault = github_->add_fault({.action = "withhold", .for_ms = 60'000});
    const auto unwanted = github_->queue({.repository = kRepository, .labels = {"self-hosted", "demo"}});
    eventually([this] { return github_->summary().registrations > 0; });
    eventually(
        [this] {
          const auto live = agent_.live_attempts();
          return !live.empty() && live.front().state == "idle";
        },
        seconds(10));
    for (const auto job : unwanted)
      github_->cancel(job);
    eventually([this] { return github_->summary().registrations == 0 && uncleaned() == 0; });
    github_->remove_fault(fault);
    queue("one", "true");
    eventually([this] { return lines("one") > 0; });
    eventually([this] {
      const auto summary = github_->summary();
      return summary.queued == 0 && summary.in_progress == 0 && summary.registrations == 0 &&
             uncleaned() == 0;
    });
  }

  [[nodiscard]] std::string waits() const {
    return "i=0; while [ ! -e " + directory_ / "marks/go" +
           " ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done";
  }

  // ---- what must hold ----
  // A kill may come while this looks; what it saw then counts for nothing.
  void look() {
    const std::size_t known = verdict_.violations.size();
    for (int tries = 0; tries < 3; ++tries) {
      check_while_it_runs();
      if (complained_ || !agent_.ended()) return;
      verdict_.violations.resize(known);
      if (!eventually([this] { return uncleaned() == 0; }))
        return fail("not clean again after the last kill");
    }
  }

  void check_while_it_runs() {
    if (complained_) return;
    const auto left = agent_.leftovers();
    const int owed = owing();
    if (left.leases > owed) fail("leases left: " + std::to_string(left.leases - owed));
    if (left.processes > 0) fail("processes left: " + std::to_string(left.processes));
    if (left.cgroups > 0) fail("cgroups left: " + std::to_string(left.cgroups));
    const std::string kept = order_.story == "slots" ? "s1 " : "";
    if (names_below(agent_.runtimes() + "/demo", ".runner-manager-owner") != kept)
      fail("left in the root: " + names_below(agent_.runtimes() + "/demo"));
    if (!names_below(agent_.state() + "/processes").empty()) fail("records of processes left");
    if (github_->summary().registrations > 0) fail("registrations left");
    said_ = agent_.status_json();
  }

  void check_what_is_left() {
    for (const std::string& name : jobs_) {
      if (lines(name) != 1) fail("job " + name + " ran " + std::to_string(lines(name)) + " times");
    }
    for (const auto& job : github_->jobs()) {
      if (job.starts > 1) fail("job " + std::to_string(job.id) + " was started twice");
      if (job.starts == 1 && job.result != "success" && !may_fail_)
        fail("job " + std::to_string(job.id) + " ended as " + job.result);
    }
    check_processes();
    check_hooks();
    check_cgroups();
    if (testkit::contents("/proc/self/mounts").find(directory_.path()) != std::string::npos)
      fail("mounts left");
    for (const std::string& place : {agent_.state() + "/packages/staging", agent_.state() + "/processes"}) {
      if (fs::exists(place) && !fs::is_empty(place))
        fail("left in " + fs::path(place).filename().string() + ": " + names_below(place));
    }
    for (const auto& entry : fs::directory_iterator(agent_.state() + "/records")) {
      if (entry.path().extension() != ".record") fail("a half-written record is left");
    }
    check_secrets();
  }

  // A kill of the daemon ends no hook, so each runs once. Only one before a launch may be ended, with its
  // launch, or be on record and not begun yet.
  void check_hooks() {
    std::map<std::string, std::string> told;  // by attempt
    std::istringstream log(testkit::contents(directory_ / "hooks.log"));
    for (std::string name, attempt, what; log >> name >> attempt >> what;)
      told[attempt] += name + ' ' + what + ", ";
    const std::string after = "after begins, after ends, ";
    for (const auto& [attempt, story] : told) {
      const bool whole = story == "before begins, before ends, " + after;
      if (!whole && !(verdict_.killed && (story == "before begins, " + after || story == after)))
        fail("the hooks of " + attempt + ": " + story);
    }
    if (order_.story == "hooks" && told.size() < jobs_.size()) fail("an attempt had no hooks");
  }

  void check_processes() {
    std::set<std::string> keys;
    for (const auto& attempt : agent_.attempts())
      keys.insert(attempt.id);
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
      const std::string pid = entry.path().filename();
      if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
      const std::string line = testkit::contents(entry.path() / "cmdline");
      if (line.empty()) continue;  // a zombie is not alive
      const bool ours = line.find(agent_.runtimes()) != std::string::npos ||
                        (line.find("rmgr-shim") != std::string::npos && line.size() > 36 &&
                         keys.contains(std::string(line.c_str() + line.find('\0') + 1).substr(0, 36)));
      if (ours) fail("a process is left: " + std::string(line.c_str()));
    }
  }

  void check_secrets() {
    std::multimap<std::string, std::string> needles = {{"token", kToken}};
    for (const std::string& name : jobs_) {
      const std::string shown = testkit::contents(directory_ / ("marks/secret." + name));
      for (const std::string& credential : testkit::credentials_in(shown))
        needles.emplace("credential of " + name, credential);
    }
    std::string everything = said_ + testkit::journal_dump(agent_.state() + "/journal.db") +
                             testkit::contents(agent_.log_file()) +
                             testkit::contents(directory_ / "stderr.log");
    // The reserve holds nothing, the package what was in it before.
    const auto known = [](const fs::path& file) {
      return file.string().find("/packages/") != std::string::npos || file.filename() == "reserve";
    };
    for (const std::string& root : {agent_.state(), agent_.runtimes()})
      everything += testkit::files_below(root, known);
    for (const auto& [what, needle] : needles) {
      if (everything.find(needle) != std::string::npos) fail("the " + what + " is written somewhere");
    }
  }

  // One that does not answer is not clean.
  [[nodiscard]] int uncleaned() const {
    if (agent_.status_json().empty()) return 1;
    int count = 0;
    for (const auto& attempt : agent_.live_attempts())
      count += attempt.state == "cleaned" ? 0 : 1;
    return count;
  }

  // After a request whose answer nobody knows, an absence is believed only after twelve minutes.
  [[nodiscard]] int owing() const {
    int count = 0;
    for (const auto& attempt : agent_.attempts())
      count += attempt.state == "cleaned" && attempt.owes_deregistration ? 1 : 0;
    return count;
  }

  [[nodiscard]] int lines(const std::string& name) const {
    const std::string text = testkit::contents(directory_ / ("marks/" + name));
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  static std::string names_below(const std::string& directory, const std::string& except = "") {
    std::set<std::string> sorted;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored))
      sorted.insert(entry.path().filename());
    std::string names;
    for (const std::string& name : sorted)
      names += name == except ? "" : name + " ";
    return names;
  }

  [[nodiscard]] std::string last_words() const {
    const std::string said = testkit::contents(directory_ / "stderr.log");
    return said.size() > 300 ? said.substr(said.size() - 300) : said;
  }

  void fail(const std::string& what) { verdict_.violations.push_back(what); }

  Order order_;
  testkit::TemporaryDirectory directory_;
  emulator::EmulatorProcess github_;
  testkit::Agent agent_;
  Verdict verdict_;
  std::set<std::string> jobs_;
  std::string said_;
  bool armed_ = false, complained_ = false, may_fail_ = false;
};

}  // namespace

Verdict play(const Order& order) {
  try {
    return World(order).play();
  } catch (const std::exception& failure) {
    return {.killed = false, .violations = {std::string("the harness failed: ") + failure.what()}};
  }
}

}  // namespace crash
