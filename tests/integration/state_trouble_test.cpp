// A state directory in trouble: a full disk, a file system that became read-only, a journal that cannot be
// used. Each is a state that `status` names, nothing crashes, and no job is lost or run twice.
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "stage.hpp"
#include "support/small_disk.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;
using testkit::SmallDisk;

struct Said {
  int exit_code = 0;
  std::string out, err;
};

class StateTrouble : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can mount a small file system";
  }

  static void three_policies(testkit::AgentSetup& setup) {
    const std::vector<std::pair<std::string, std::string>> timeouts{{"jit_handoff", "3s"}};
    setup.policies = {{.name = "once", .labels = {"once"}, .timeouts = timeouts},
                      {.name = "slots", .labels = {"slots"}, .workspace = "persistent", .timeouts = timeouts},
                      {.name = "late", .labels = {"late"}, .timeouts = {{"job", "2s"}}}};
  }

  Said say(const std::vector<std::string>& words) {
    const std::string err = stage.path("said");
    std::string command = stage.setup().bin + "/runner-manager";
    for (const std::string& word : words)
      command += " " + word;
    Said said;
    said.out = testkit::run_program(
        {"/bin/sh", "-c", command + " --config " + stage.agent().config_file() + " 2> " + err},
        &said.exit_code);
    said.err = testkit::contents(err);
    return said;
  }
  // What `status` calls the journal, whether an agent runs or not.
  std::string journal_state() {
    const auto document = nlohmann::json::parse(say({"status", "--json"}).out, nullptr, false);
    return document.is_object() ? document["journal"]["state"].get<std::string>() : "no document";
  }
  bool becomes(const std::string& state) {
    return eventually([&] { return journal_state() == state; });
  }

  [[nodiscard]] std::string state() const { return state_; }
  [[nodiscard]] std::string go(const std::string& name) const { return stage.path("runtimes/go-" + name); }
  void let_go(const std::string& name) const { testkit::run_program({"/usr/bin/touch", go(name)}, nullptr); }
  void queue(const std::string& label, const std::string& script) {
    stage.queue(1, script, {"self-hosted", label});
  }
  bool running(int jobs) {
    return eventually([&] { return stage.github()->summary().in_progress == jobs; });
  }
  std::string limited_by(const std::string& policy) {
    for (const testkit::PolicyView& view : stage.agent().policies()) {
      if (view.name == policy) return view.limited_by;
    }
    return "no such policy";
  }
  // Until it is let go.
  void one_runs() {
    ASSERT_TRUE(stage.agent().start());
    queue("once", Stage::wait_for(go("once")));
    ASSERT_TRUE(running(1));
  }
  // That policy's attempts are done, to the last trace.
  bool cleaned(const std::string& policy) {
    return eventually([&] {
      const auto live = stage.agent().live_attempts();
      return std::none_of(live.begin(), live.end(),
                          [&](const testkit::AttemptView& attempt) { return attempt.policy == policy; });
    });
  }
  void nothing_is_left(int jobs) {
    ASSERT_TRUE(stage.settles(jobs, std::chrono::seconds(120)));
    EXPECT_EQ(stage.github()->summary().started_twice, 0);
    const auto left = stage.agent().leftovers();
    const bool slot_is_kept = fs::exists(stage.path("runtimes/slots/s1"));
    EXPECT_EQ(left.sum() - (slot_is_kept ? 1 : 0), 0);
    EXPECT_EQ(stage.agent().terminate(), 0);
  }

  Stage stage{4, three_policies};
  const std::string state_ = stage.agent().state();
};

TEST_F(StateTrouble, on_a_full_disk_what_runs_is_ended_and_cleaned_and_nothing_new_starts) {
  const SmallDisk disk(state(), SmallDisk::Kind::memory, 64);
  ASSERT_TRUE(disk.mounted()) << disk.why_not();
  ASSERT_TRUE(stage.agent().start());
  queue("once", Stage::wait_for(go("once")));
  queue("slots", Stage::wait_for(go("slots")));
  ASSERT_TRUE(running(2));
  EXPECT_EQ(journal_state(), "ready");

  queue("late", "trap '' TERM; " + Stage::wait_for("/nonexistent"));
  ASSERT_TRUE(running(3));
  disk.fill();
  let_go("once");
  let_go("slots");
  for (const char* policy : {"once", "slots", "late"})
    EXPECT_TRUE(cleaned(policy)) << policy << " is not cleaned on a full disk";
  queue("once", "true");
  ASSERT_TRUE(becomes("full"));
  EXPECT_FALSE(fs::exists(state() + "/reserve"));
  const Said text = say({"status"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("journal: full: "), std::string::npos) << text.out;
  ASSERT_TRUE(eventually([&] { return limited_by("once") == "disk_full"; })) << say({"explain", "once"}).out;
  EXPECT_NE(say({"explain", "once"}).out.find("Make room on it, at least 32 MiB."), std::string::npos);
  EXPECT_EQ(stage.github()->summary().completed, 3);

  disk.empty();
  EXPECT_TRUE(becomes("ready"));
  EXPECT_EQ(fs::file_size(state() + "/reserve"), 16U << 20U) << "kept for the next time";
  nothing_is_left(4);
}

TEST_F(StateTrouble, a_start_on_a_full_disk_takes_over_what_runs) {
  const SmallDisk disk(state(), SmallDisk::Kind::memory, 64);
  ASSERT_TRUE(disk.mounted()) << disk.why_not();
  ASSERT_NO_FATAL_FAILURE(one_runs());
  stage.agent().kill_hard();
  disk.fill();
  ASSERT_TRUE(stage.agent().start()) << testkit::contents(stage.path("stderr.log"));
  let_go("once");
  EXPECT_TRUE(cleaned("once"));
  queue("slots", "true");
  EXPECT_TRUE(becomes("full"));

  // Killed now, and with nothing left to give up: the next start may be refused, and that is told.
  stage.agent().kill_hard();
  fs::remove(state() + "/reserve");
  disk.fill();
  EXPECT_EQ(journal_state(), "full");
  EXPECT_EQ(say({"status"}).exit_code, 5);
  disk.empty();
  ASSERT_TRUE(stage.agent().start());
  EXPECT_TRUE(becomes("ready"));
  nothing_is_left(2);
}

TEST_F(StateTrouble, a_state_directory_that_is_read_only_at_the_start_is_named_and_loses_nothing) {
  const SmallDisk disk(state(), SmallDisk::Kind::memory, 64);
  ASSERT_TRUE(disk.mounted()) << disk.why_not();
  ASSERT_NO_FATAL_FAILURE(one_runs());
  stage.agent().kill_hard();
  ASSERT_TRUE(disk.set_read_only(true));

  const Said run = say({"run"});
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_NE(run.err.find("Read-only file system"), std::string::npos) << run.err;
  const Said status = say({"status"});
  EXPECT_EQ(status.exit_code, 5);
  EXPECT_NE(status.out.find("no agent is running\njournal: denied: The file system of the state directory " +
                            state() + " is read-only."),
            std::string::npos)
      << status.out;

  ASSERT_TRUE(disk.set_read_only(false));
  ASSERT_TRUE(stage.agent().start());
  let_go("once");
  nothing_is_left(1);
}

TEST_F(StateTrouble, a_state_directory_that_becomes_read_only_stops_launches_and_nothing_else) {
  SmallDisk disk(state(), SmallDisk::Kind::ext4, 96);
  ASSERT_TRUE(disk.mounted()) << disk.why_not();
  ASSERT_NO_FATAL_FAILURE(one_runs());
  ASSERT_TRUE(disk.abort());
  queue("slots", "true");
  ASSERT_TRUE(becomes("denied"));
  EXPECT_EQ(limited_by("slots"), "journal_unreadable");
  EXPECT_NE(say({"explain", "slots"}).out.find("is read-only. Find out why"), std::string::npos)
      << say({"explain", "slots"}).out;
  let_go("once");
  EXPECT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  EXPECT_FALSE(stage.agent().ended());

  stage.agent().kill_hard();
  ASSERT_TRUE(disk.repair());
  ASSERT_TRUE(stage.agent().start());
  nothing_is_left(2);
}

struct Damage {
  const char* name;
  const char* state;
  const char* says;
  std::function<void(const std::string& journal)> inflict;
};

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all{
      {"cut_in_half", "damaged", "docs/journal.md",
       [](const std::string& journal) { fs::resize_file(journal, fs::file_size(journal) / 2); }},
      {"empty", "damaged", "is empty", [](const std::string& journal) { fs::resize_file(journal, 0); }},
      {"overwritten", "damaged", "docs/journal.md",
       [](const std::string& journal) {
         std::fstream file(journal, std::ios::in | std::ios::out | std::ios::binary);
         file << std::string(4096, 'x');
       }},
      {"pages_lost", "damaged", "docs/journal.md",
       [](const std::string& journal) {
         std::fstream file(journal, std::ios::in | std::ios::out | std::ios::binary);
         file.seekp(4096);
         file << std::string(8 * 4096, '\xff');
       }},
      {"gone_but_for_its_log", "damaged", "is missing",
       [](const std::string& journal) {
         fs::remove(journal);
         std::ofstream(journal + "-wal") << "a log";
         fs::permissions(journal + "-wal", fs::perms(0600));
       }},
      {"newer", "other_version", "Run the newer program again",
       [](const std::string& journal) {
         ASSERT_TRUE(testkit::run_sql(journal, "PRAGMA user_version = 99"));
       }},
      {"of_another_account", "denied", "belongs to account 12345",
       [](const std::string& journal) { ASSERT_EQ(::chown(journal.c_str(), 12345, 12345), 0); }},
      {"no_file", "denied", "is not a regular file",
       [](const std::string& journal) {
         fs::remove(journal);
         fs::create_directory(journal);
       }},
  };
  return all;
}

TEST_F(StateTrouble, a_journal_that_cannot_be_used_is_named_kept_as_evidence_and_taken_up_once_it_is_mended) {
  ASSERT_NO_FATAL_FAILURE(one_runs());
  ASSERT_EQ(stage.agent().terminate(), 0) << "the journal is whole, without a log";
  const std::string journal = state() + "/journal.db";
  const std::string backup = stage.path("backup.db");
  fs::copy_file(journal, backup);
  for (const Damage& damage : damages()) {
    SCOPED_TRACE(damage.name);
    ASSERT_NO_FATAL_FAILURE(damage.inflict(journal));
    const auto evidence = [&] { return fs::is_regular_file(journal) ? testkit::contents(journal) : ""; };
    const std::string before = evidence();

    const Said run = say({"run"});
    EXPECT_EQ(run.exit_code, 5);
    EXPECT_NE(run.err.find(damage.says), std::string::npos) << run.err;
    const Said status = say({"status"});
    EXPECT_EQ(status.exit_code, 5);
    EXPECT_NE(status.out.find(std::string("journal: ") + damage.state + ": "), std::string::npos)
        << status.out << status.err;
    EXPECT_NE(status.out.find(damage.says), std::string::npos) << status.out;
    EXPECT_EQ(journal_state(), damage.state);
    EXPECT_NE(status.out.find("attempts are not known"), std::string::npos) << "unreadable is not empty";
    EXPECT_EQ(say({"attempts"}).exit_code, 5);
    EXPECT_EQ(evidence(), before) << "what is left of it was changed";
    EXPECT_EQ(stage.github()->summary().in_progress, 1) << "the runner works on";

    for (const char* suffix : {"", "-wal", "-shm"})
      fs::remove(journal + suffix);
    fs::copy_file(backup, journal);
    fs::permissions(journal, fs::perms(0600));
    const Said mended = say({"status"});
    EXPECT_EQ(mended.exit_code, 4) << mended.out;
    EXPECT_NE(mended.out.find("no agent is running\n"), std::string::npos) << mended.out;
    EXPECT_NE(mended.out.find("once"), std::string::npos) << "its runner is listed: " << mended.out;
  }
  ASSERT_TRUE(stage.agent().start());
  let_go("once");
  nothing_is_left(1);
}

}  // namespace
}  // namespace integration
