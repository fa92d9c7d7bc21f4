// One value is a secret everywhere: the token of the gateway and each one-time registration. They are
// searched for in every place that an operator or a job can read.
#include <sqlite3.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "stage.hpp"

namespace integration {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream input(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(input), {}};
}

// Every row of every table, as text.
std::string journal_dump(const std::string& path) {
  sqlite3* database = nullptr;
  std::string dump;
  if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) return dump;
  const auto append = [](void* into, int columns, char** values, char**) {
    for (int column = 0; column < columns; ++column) {
      if (values[column] != nullptr) static_cast<std::string*>(into)->append(values[column]).append("|");
    }
    return 0;
  };
  std::string tables;
  sqlite3_exec(database, "SELECT name FROM sqlite_schema WHERE type='table'", append, &tables, nullptr);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = tables.find('|', begin)) != std::string::npos; begin = end + 1) {
    const std::string select = "SELECT * FROM \"" + tables.substr(begin, end - begin) + "\"";
    sqlite3_exec(database, select.c_str(), append, &dump, nullptr);
  }
  sqlite3_close(database);
  return dump;
}

// The command lines of every process of this machine.
std::string all_command_lines() {
  std::string lines;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (entry.path().filename().string().find_first_not_of("0123456789") == std::string::npos) {
      lines += contents(entry.path() / "cmdline");
      lines.push_back('\n');
    }
  }
  return lines;
}

// What identifies one registration: the credential inside of the one-time configuration, as the listener's
// own files show it while it runs.
std::set<std::string> credentials_of(const std::string& runtimes) {
  std::set<std::string> found;
  std::error_code ignored;
  for (const auto& entry :
       fs::recursive_directory_iterator(runtimes, fs::directory_options::skip_permission_denied, ignored)) {
    if (entry.path().filename() != ".credentials") continue;
    const std::string text = contents(entry.path());
    const std::string key = "\"token\":\"";
    const std::size_t at = text.find(key);
    if (at == std::string::npos) continue;
    found.insert(text.substr(at + key.size(), text.find('"', at + key.size()) - at - key.size()));
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
  for (const std::string& root : {stage.agent().state(), stage.agent().runtimes()}) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) everything += contents(entry.path());
    }
  }
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
  stage.queue(1,
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
                  seen + "/uid.$me");
  ASSERT_TRUE(eventually([&] { return stage.github()->summary().completed == 1; }));
  // And one after both.
  testkit::run_program({"/usr/bin/touch", stage.path("runtimes/go")}, nullptr);
  ASSERT_TRUE(stage.settles(2));
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
  EXPECT_EQ(accounts, 1);
  EXPECT_EQ(read.find("ACTIONS_RUNNER_INPUT_JITCONFIG"), std::string::npos);
  EXPECT_EQ(read.find(stage.setup().token), std::string::npos);
  EXPECT_TRUE(read.empty()) << "a job read " << read.size() << " bytes of other accounts";
}

}  // namespace
}  // namespace integration
