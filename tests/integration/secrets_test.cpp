// One value is a secret everywhere: the token of the gateway and each one-time registration. They are
// searched for in every place that an operator or a job can read.
#include <algorithm>
#include <filesystem>
#include <set>

#include "stage.hpp"
#include "support/everything.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;

using testkit::all_command_lines;
using testkit::contents;
using testkit::journal_dump;

// What identifies one registration: the credential inside of the one-time configuration, as the listener's
// own files show it while it runs.
std::set<std::string> credentials_of(const std::string& runtimes) {
  std::set<std::string> found;
  std::error_code ignored;
  for (const auto& entry :
       fs::recursive_directory_iterator(runtimes, fs::directory_options::skip_permission_denied, ignored)) {
    if (entry.path().filename() != ".credentials") continue;
    found.merge(testkit::credentials_in(contents(entry.path())));
  }
  return found;
}

TEST(Secrets, are_in_no_log_journal_command_line_or_file_after_the_run) {
  Stage stage(2);
  ASSERT_TRUE(stage.agent().start());
  stage.queue(4, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().in_progress == 2; }));
  const std::set<std::string> credentials = credentials_of(stage.agent().runtimes());
  ASSERT_EQ(credentials.size(), 2U) << "the search needs something to search for";
  std::set<std::string> needles = credentials;
  needles.insert(stage.setup().token);
  const std::string during =
      all_command_lines() + stage.agent().status_json() + journal_dump(stage.agent().state() + "/journal.db");
  // The emulator of this very test is told the token on its command line; it is no part of the agent.
  for (const std::string& credential : credentials)
    EXPECT_EQ(during.find(credential), std::string::npos);
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(4));
  const std::string status = stage.agent().status_json();
  ASSERT_EQ(stage.agent().terminate(), 0);

  std::string everything = status + journal_dump(stage.agent().state() + "/journal.db") +
                           contents(stage.agent().log_file()) + contents(stage.path("stderr.log"));
  EXPECT_NE(contents(stage.agent().log_file()).find("attempt_granted"), std::string::npos);
  for (const std::string& root : {stage.agent().state(), stage.agent().runtimes()})
    everything += testkit::files_below(root);
  for (const std::string& needle : needles)
    EXPECT_EQ(everything.find(needle), std::string::npos);
}

TEST(Secrets, a_job_reads_no_environment_but_its_own) {
  if (::geteuid() != 0) GTEST_SKIP() << "separate job accounts need root";
  Stage stage(2);
  ASSERT_TRUE(stage.agent().start());
  const std::string seen = stage.path("runtimes/seen");
  fs::create_directory(seen);
  fs::permissions(seen, fs::perms(0777));
  // A concurrent attempt first, then one that looks at every process that it can find.
  stage.queue(1, Stage::wait_for(stage.path("runtimes/go")));
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().in_progress == 1; }));
  const std::string look =
      "set +e; me=$(id -u); for p in /proc/[0-9]*; do u=$(stat -c %u $p 2>/dev/null) || continue; "
      "[ \"$u\" = \"$me\" ] && continue; cat $p/environ >> " +
      seen +
      "/$me.environ 2>/dev/null; "
      "cat $p/mem >> " +
      seen +
      "/$me.mem 2>/dev/null; done; "
      "for f in $(find " +
      stage.agent().runtimes() + " " + stage.agent().state() +
      " -name '.credentials*' -o -name 'journal.db' 2>/dev/null); do "
      "case $f in $PWD/*) ;; *) cat $f >> " +
      seen +
      "/$me.files 2>/dev/null;; esac; done; "
      "id -u > " +
      seen + "/uid.$me";
  stage.queue(1, look);
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  // And one after both.
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(2));
  stage.queue(1, look);
  ASSERT_TRUE(stage.settles(3));
  std::string read;
  int accounts = 0;
  for (const auto& entry : fs::directory_iterator(seen)) {
    if (entry.path().filename().string().rfind("uid.", 0) == 0) {
      ++accounts;
      EXPECT_NE(contents(entry.path()), "0\n") << "a job must not run as the daemon";
    } else {
      read += contents(entry.path());
    }
  }
  EXPECT_GE(accounts, 1);
  EXPECT_EQ(read.find("ACTIONS_RUNNER_INPUT_JITCONFIG"), std::string::npos);
  EXPECT_EQ(read.find(stage.setup().token), std::string::npos);
  EXPECT_TRUE(read.empty()) << "a job read " << read.size() << " bytes of other accounts";
}

}  // namespace
}  // namespace integration
