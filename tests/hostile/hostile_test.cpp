// Each hostile job is run by the real agent: it must be denied or ended, reported, cleaned, and followed by a
// job that finds nothing of it. With RMGR_HOSTILE_FIGURES in the environment a line of figures goes into that
// file.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "hostile/hearing.hpp"
#include "hostile/kinds.hpp"
#include "integration/stage.hpp"
#include "support/elsewhere.hpp"
#include "support/small_disk.hpp"

namespace hostile {
namespace {

namespace fs = std::filesystem;
using integration::eventually;
using integration::Stage;

class Play {
 public:
  explicit Play(const Kind& kind)
      : kind_(kind), stage_(2, [&](testkit::AgentSetup& setup) {
          setup.policies.front().timeouts = kind.timeouts;
          setup.provider_more = ", hooks: {before: {command: [" + tools_ / "before" +
                                "]}}, private_tmp: " + (kind.shared_tmp ? "false" : "true");
          setup.policies.front().profile = kind.profile;
        }) {
    fs::copy_file(RMGR_BIN_DIR "/rmgr-hostile", tools_ / "rmgr-hostile");
    std::ofstream(tools_ / "before") << "#!/bin/sh\nset -e\ncp " << tools_ / "rmgr-hostile"
                                     << " $RUNNER_MANAGER_RUNTIME/hostile\necho $RUNNER_MANAGER_ATTEMPT "
                                        "$RUNNER_MANAGER_ACCOUNT >> "
                                     << tools_ / "accounts"
                                     << "\n";
    fs::permissions(tools_ / "before", fs::perms(0755));
    fs::create_directory(canary());
    std::ofstream(canary() + "/file") << "untouched";
    fs::permissions(canary() + "/file", fs::perms(0644));
    if (kind.small_disk) {
      disk_.emplace(stage_.agent().runtimes(), testkit::SmallDisk::Kind::ext4, 64);
      fs::permissions(stage_.agent().runtimes(), fs::perms(0711));
    }
  }

  void run() {
    ASSERT_TRUE(!disk_ || disk_->mounted()) << disk_->why_not();
    ASSERT_TRUE(stage_.agent().start());
    daemon_ = stage_.agent().pid();
    stage_.github()->change_settings({.lost_after_ms = 1'500});
    ASSERT_TRUE(!kind_.victim || start_victim());
    hostile_job();
    check_what_it_did();
    if (kind_.victim) std::ofstream(stage_.path("runtimes/go")).close();
    next_job();
    check_what_is_left();
    tell();
  }

 private:
  [[nodiscard]] std::string canary() const { return tools_ / "canary"; }

  bool start_victim() {
    stage_.queue(
        1, "RMGR_SECRET=of-the-victim; export RMGR_SECRET; " + Stage::wait_for(stage_.path("runtimes/go")));
    ++jobs_;
    if (!eventually([&] { return stage_.github()->summary().in_progress == 1; })) return false;
    victim_ = stage_.agent().live_attempts().front().id;
    return true;
  }

  // Where everything is that it should not reach.
  [[nodiscard]] std::string words() {
    std::string words;
    const auto add = [&](const std::string& name, const std::string& value) {
      words += " " + name + "=" + value;
    };
    add("daemon", std::to_string(daemon_));
    add("state", stage_.agent().state());
    add("runtimes", stage_.agent().runtimes() + "/demo");
    add("socket", stage_.agent().state() + "/control.sock");
    add("token", stage_.path("token"));
    add("config", stage_.agent().config_file());
    add("log", stage_.agent().log_file());
    add("canary", canary());
    add("self", "\"$PWD\"");
    if (victim_.empty()) return words;
    add("victim_runtime", runtime_of(victim_));
    add("victim_uid", std::to_string(account_of(victim_)));
    for (const auto& runner : stage_.github()->runners())
      if (runner.registered) add("victim", std::to_string(runner.listener_pid));
    return words;
  }

  [[nodiscard]] std::string runtime_of(const std::string& id) {
    return stage_.agent().runtimes() + "/demo/" + id.substr(0, 8) + id.substr(9, 4);
  }

  [[nodiscard]] std::uint32_t account_of(const std::string& attempt) const {
    std::ifstream all(tools_ / "accounts");
    std::uint32_t uid = 0;
    for (std::string id; all >> id >> uid;)
      if (id == attempt) return uid;
    return 0;
  }

  void hostile_job() {
    stage_.queue(1, "cd ${PWD%%/_work/*}; exec ./hostile " + kind_.program + " " +
                        std::to_string(hearing_.port()) + words());
    ++jobs_;
    ASSERT_TRUE(eventually(
        [&] {
          for (const auto& attempt : stage_.agent().attempts()) {
            if (attempt.id == victim_ || attempt.state != "cleaned") continue;
            hostile_ = attempt;
            return true;
          }
          return false;
        },
        std::chrono::seconds(90)));
    cleaned_after_ms_ = logged_at("\"state\":\"cleaned\"") - logged_at("\"event\":\"attempt_concluded\"");
  }

  // The time of day, in milliseconds, of the log's first line about the hostile attempt that holds `what`.
  std::int64_t logged_at(const std::string& what) {
    std::ifstream log(stage_.agent().log_file());
    for (std::string line; std::getline(log, line);) {
      if (line.find(hostile_.id) == std::string::npos || line.find(what) == std::string::npos) continue;
      int hours = 0, minutes = 0, seconds = 0, ms = 0;
      const std::size_t at = line.find('T');
      if (at != std::string::npos &&
          std::sscanf(line.c_str() + at, "T%d:%d:%d.%dZ", &hours, &minutes, &seconds, &ms) == 4)
        return ((hours * 60LL + minutes) * 60 + seconds) * 1000 + ms;
    }
    return 0;
  }

  void check_what_it_did() {
    EXPECT_GT(hearing_.lines().size(), 0U) << "it was not heard of";
    for (const std::string& line : hearing_.lines())
      if (line.starts_with("DONE")) ADD_FAILURE() << line;
    const std::string outcome = hostile_.outcome + "/" + hostile_.reason;
    EXPECT_TRUE(std::find(kind_.outcomes.begin(), kind_.outcomes.end(), outcome) != kind_.outcomes.end())
        << outcome;
    EXPECT_EQ(hostile_.out_of_memory, kind_.out_of_memory);
    EXPECT_EQ(stage_.agent().pid(), daemon_);
    EXPECT_FALSE(stage_.agent().ended()) << "the agent is gone";
  }

  // It gets the account of the hostile one, and must find nothing of it.
  void next_job() {
    stage_.queue(1,
                 "for each in /tmp /var/tmp /dev/shm; do for one in $each/hostile-$(id -u)-*; do "
                 "if [ -e \"$one\" ] || [ -L \"$one\" ]; then exit 9; fi; done; done; "
                 "echo fine > done; cp done \"$TMPDIR/done\"");
    ++jobs_;
    EXPECT_TRUE(stage_.settles(jobs_, std::chrono::seconds(120)));
    const auto jobs = stage_.github()->jobs();
    EXPECT_EQ(jobs.back().result, "success") << "the next job, exit code " << jobs.back().exit_code;
    EXPECT_EQ(jobs.front().result, kind_.victim ? "success" : jobs.front().result) << "the job beside it";
  }

  void check_what_is_left() {
    const auto& agent = stage_.agent();
    left_ = agent.leftovers().sum() + stage_.github()->summary().registrations;
    EXPECT_EQ(left_, 0);
    std::set<std::string> accounts;
    std::ifstream all(tools_ / "accounts");
    for (std::string id, account; all >> id >> account;)
      accounts.insert(account);
    EXPECT_FALSE(accounts.empty());
    for (const std::string& account : accounts) {
      const std::string processes =
          output("cat /proc/[0-9]*/status 2>/dev/null | grep -cE '^Uid:.*[[:space:]]" + account +
                 "([[:space:]]|$)'");
      EXPECT_EQ(processes, "0\n") << "processes of " << account;
      // Directories of other tests are nobody's business here.
      const std::string files = output("{ find /tmp /var/tmp /dev/shm -name 'rmgr-*' -prune -o -user " +
                                       account + " -print; find " + agent.state() + " " + agent.runtimes() +
                                       " -user " + account + "; } 2>/dev/null | head -20");
      EXPECT_EQ(files, "") << "files of " << account;
      const std::string objects =
          output("awk -v u=" + account +
                 " '{for(i=1;i<=NF;i++) if($i==u) {print FILENAME; next}}' /proc/sysvipc/* 2>/dev/null");
      EXPECT_EQ(objects, "") << "IPC objects of " << account;
      for (const std::string* text : {&files, &objects})
        left_ += static_cast<int>(std::count(text->begin(), text->end(), '\n'));
      left_ += std::atoi(processes.c_str());
    }
    EXPECT_EQ(testkit::contents(canary() + "/file"), "untouched");
    struct stat info {};
    EXPECT_EQ(::stat((canary() + "/file").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, 0U);
    EXPECT_EQ(info.st_nlink, 1U);
    EXPECT_EQ(std::distance(fs::directory_iterator(canary()), fs::directory_iterator()), 1);
    const std::string mounts = testkit::contents("/proc/self/mounts");
    EXPECT_EQ(mounts.find(agent.runtimes() + "/"), std::string::npos) << "mounts left";
    EXPECT_EQ(stage_.agent().terminate(), 0);
  }

  void tell() const {
    std::ostringstream line;
    line << kind_.name << '\t' << kind_.tries << '\t' << hearing_.count("denied") << '\t'
         << hearing_.count("DONE") << '\t' << kind_.stopped_by << '\t' << hostile_.outcome
         << (hostile_.reason.empty() ? "" : ": " + hostile_.reason)
         << (hostile_.out_of_memory ? ", out of memory" : "") << '\t' << cleaned_after_ms_ << '\t' << left_
         << '\n';
    std::cout << line.str();
    if (const char* file = std::getenv("RMGR_HOSTILE_FIGURES"))
      std::ofstream(file, std::ios::app) << line.str();
    if (!::testing::Test::HasFailure()) return;
    for (const std::string& said : hearing_.lines())
      std::cerr << said << '\n';
  }

  static std::string output(const std::string& command) {
    return testkit::run_program({"/bin/sh", "-c", command}, nullptr);
  }

  const Kind& kind_;
  const testkit::Elsewhere elsewhere_;
  testkit::TemporaryDirectory tools_;
  Hearing hearing_;
  Stage stage_;
  std::optional<testkit::SmallDisk> disk_;
  pid_t daemon_ = 0;
  int jobs_ = 0;
  int left_ = 0;
  std::string victim_;
  testkit::AttemptView hostile_;
  std::int64_t cleaned_after_ms_ = 0;
};

class HostileJob : public ::testing::TestWithParam<Kind> {};

TEST_P(HostileJob, is_contained_reported_cleaned_and_followed_by_another) {
  if (::geteuid() != 0) GTEST_SKIP() << "only an agent of root has job accounts";
  Play(GetParam()).run();
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostileJob, ::testing::ValuesIn(kinds()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace hostile
