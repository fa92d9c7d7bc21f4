#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "native/accounts.hpp"
#include "native/environment.hpp"
#include "native/runner_env.hpp"
#include "native/settings.hpp"
#include "plugin/schema.hpp"
#include "rmgr/error.hpp"
#include "unit/plugin_native/fakes.hpp"

namespace native {
namespace {

using rmgr::Status;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::status_of;

TEST(Settings, TheSchemaAcceptsEachWayAndRefusesTheRest) {
  const auto problems = [](const char* json) {
    const auto checked = agent::plugin::check_config(settings_schema, json);
    return checked ? checked->problems.size() : 999;
  };
  EXPECT_EQ(problems(R"({})"), 0U);
  EXPECT_EQ(problems(R"({"run_as": {"pool": ["job1", "job2"]}})"), 0U);
  EXPECT_EQ(problems(R"({"run_as": {"uid_range": {"first": 70000, "count": 4}}})"), 0U);
  EXPECT_EQ(
      problems(R"({"allow_shared_account": true, "runner_env": "/etc/x.env", "inherit": ["PATH", "MY_*"]})"),
      0U);
  for (const char* bad :
       {R"({"run_as": {"pool": []}})", R"({"run_as": {"pool": [7]}})",
        R"({"run_as": {"uid_range": {"first": 70000}}})",
        R"({"run_as": {"uid_range": {"first": 0, "count": 4}}})",
        R"({"run_as": {"uid_range": {"first": 70000, "count": 0}}})", R"({"runner_env": "x.env"})",
        R"({"inherit": ["A B"]})", R"({"inherit": ["*"]})", R"({"user": "x"})"})
    EXPECT_GT(problems(bad), 0U) << bad;
}

TEST(Settings, NothingOfTheServiceManagerIsInherited) {
  for (const char* name : {"NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "LISTEN_FDS", "LISTEN_*", "L*",
                           "DBUS_SESSION_BUS_ADDRESS", "D*", "ACTIONS_RUNNER_INPUT_JITCONFIG", "ACTIONS_*"}) {
    EXPECT_FALSE(may_inherit(name)) << name;
    std::string message;
    EXPECT_EQ(status_of([&] { parse_settings(std::string(R"({"inherit": [")") + name + "\"]}"); }, &message),
              Status::invalid);
    EXPECT_THAT(message, HasSubstr(name));
  }
  for (const std::string& name : default_inherit())
    EXPECT_TRUE(may_inherit(name)) << name;
  EXPECT_EQ(parse_settings("").environment.inherit, default_inherit());
  EXPECT_EQ(parse_settings(R"({"inherit": ["MY_*"]})").environment.inherit, std::vector<std::string>{"MY_*"});
  EXPECT_EQ(status_of([] { parse_settings("{"); }), Status::invalid);
}

class AccountRules : public ::testing::Test {
 protected:
  AccountRules() {
    known_ = {{"job1", 2001, 2001}, {"job2", 2002, 2002}, {"twin", 2001, 2001},
              {"root", 0, 0},       {"toor", 0, 5},       {"wheel", 2003, 0},
              {"agent", 900, 900},  {"mate", 2004, 900},  {"nobody", 65534, 65534}};
    database_.by_name = [this](const std::string& name) {
      return find([&](const Account& each) { return each.name == name; });
    };
    database_.by_uid = [this](std::uint32_t uid) {
      return find([&](const Account& each) { return each.uid == uid; });
    };
  }

  std::optional<Account> find(const std::function<bool(const Account&)>& wanted) {
    for (const Account& each : known_) {
      if (wanted(each)) return each;
    }
    return std::nullopt;
  }

  std::string refusal(const AccountSettings& settings, const Self& who) {
    std::string message;
    const Status status = status_of([&] { resolve_accounts(settings, who, database_); }, &message);
    EXPECT_EQ(status, status == Status::ok ? Status::ok : Status::invalid);
    return status == Status::ok ? "accepted" : message;
  }

  static AccountSettings pool(std::vector<std::string> names) {
    AccountSettings settings;
    settings.pool = std::move(names);
    return settings;
  }
  static AccountSettings range(std::uint32_t first, std::uint32_t count) {
    AccountSettings settings;
    settings.uid_range = UidRange{first, count};
    return settings;
  }
  static AccountSettings shared() {
    AccountSettings settings;
    settings.allow_shared_account = true;
    return settings;
  }

  const Self root_{"root", 0, 0};
  const Self user_{"agent", 900, 900};
  std::vector<Account> known_;
  AccountDatabase database_;
};

TEST_F(AccountRules, OneChoiceAndOnlyOne) {
  EXPECT_THAT(refusal({}, root_), HasSubstr("Jobs would run as root"));
  EXPECT_THAT(refusal({}, user_), HasSubstr("allow_shared_account: true"));
  AccountSettings both = pool({"job1"});
  both.allow_shared_account = true;
  EXPECT_THAT(refusal(both, root_), HasSubstr("Only one of"));
  AccountSettings two = pool({"job1"});
  two.uid_range = UidRange{70000, 1};
  EXPECT_THAT(refusal(two, root_), HasSubstr("Only one of"));
  EXPECT_EQ(refusal(shared(), root_), "accepted");
  EXPECT_EQ(refusal(shared(), user_), "accepted");
  EXPECT_TRUE(resolve_accounts(shared(), user_, database_).shared);
}

TEST_F(AccountRules, OnlyRootHasAPool) {
  EXPECT_THAT(refusal(pool({"job1"}), user_), HasSubstr("needs an agent that runs as root"));
  EXPECT_THAT(refusal(range(70000, 2), user_), HasSubstr("needs an agent that runs as root"));
}

TEST_F(AccountRules, APoolNamesHarmlessDistinctAccounts) {
  EXPECT_EQ(resolve_accounts(pool({"job1", "job2"}), root_, database_).pool,
            (std::vector<Account>{{"job1", 2001, 2001}, {"job2", 2002, 2002}}));
  EXPECT_THAT(refusal(pool({"job1", "ghost"}), root_), HasSubstr("no account ghost"));
  EXPECT_THAT(refusal(pool({"root"}), root_), HasSubstr("root"));
  EXPECT_THAT(refusal(pool({"toor"}), root_), HasSubstr("is root"));
  EXPECT_THAT(refusal(pool({"wheel"}), root_), HasSubstr("root's group"));
  EXPECT_THAT(refusal(pool({"job1", "job1"}), root_), HasSubstr("named twice"));
  EXPECT_THAT(refusal(pool({"job1", "twin"}), root_), HasSubstr("named twice"));
  EXPECT_THAT(refusal(pool({"nobody"}), root_), HasSubstr("nobody"));
  const Self odd{"agent", 0, 900};
  EXPECT_THAT(refusal(pool({"agent"}), odd), HasSubstr("agent's own account or in its group"));
  EXPECT_THAT(refusal(pool({"mate"}), odd), HasSubstr("in its group"));
}

TEST_F(AccountRules, ARangeTouchesNoAccountThatExists) {
  const auto accounts = resolve_accounts(range(70000, 3), root_, database_);
  ASSERT_EQ(accounts.pool.size(), 3U);
  EXPECT_EQ(accounts.pool[2], (Account{"70002", 70002, 70002}));
  EXPECT_THAT(refusal(range(2000, 3), root_), HasSubstr("2001 is the account job1"));
  EXPECT_THAT(refusal(range(65533, 4), root_), HasSubstr("65534"));
}

TEST(RunnerEnv, TakesKeysAndValuesAsTheyStand) {
  EXPECT_EQ(parse_runner_env("# comment\n\nA=1\n  \nB=\nC= x \"y\" # z\nD=a=b\n_E9=\tt", "f"),
            (Variables{{"A", "1"}, {"B", ""}, {"C", " x \"y\" # z"}, {"D", "a=b"}, {"_E9", "\tt"}}));
  EXPECT_TRUE(parse_runner_env("", "f").empty());
}

TEST(RunnerEnv, ErrorsNameFileAndLineAndNeverAValue) {
  struct Case {
    const char* text;
    const char* words;
  };
  for (const Case& each : std::vector<Case>{
           {"A=1\nneedle\n", "f:2: expected KEY=VALUE"},
           {"=needle\n", "f:1: expected KEY=VALUE"},
           {"export A=needle\n", "f:1: expected KEY=VALUE"},
           {" A=needle\n", "f:1: expected KEY=VALUE"},
           {"9A=needle\n", "f:1: expected KEY=VALUE"},
           {"A=needle\r\n", "f:1: the line ends with a carriage return"},
           {"A=needle\x01\n", "f:1: the value holds a control character"},
           {"A=1\nB=2\nA=needle\n", "f:3: A is set twice"},
           {"ACTIONS_RUNNER_INPUT_JITCONFIG=needle\n",
            "f:1: ACTIONS_RUNNER_INPUT_JITCONFIG is set by the agent"},
           {"TMPDIR=needle\n", "f:1: TMPDIR is set by the agent"},
           {"HOME=needle\n", "f:1: HOME is set by the agent"},
           {"RUNNER_ALLOW_RUNASROOT=needle\n", "f:1: RUNNER_ALLOW_RUNASROOT is set by the agent"},
           {"NOTIFY_SOCKET=needle\n", "f:1: NOTIFY_SOCKET is set by the agent"}}) {
    std::string message;
    EXPECT_EQ(status_of([&] { parse_runner_env(each.text, "f"); }, &message), Status::invalid) << each.text;
    EXPECT_THAT(message, HasSubstr(each.words));
    EXPECT_THAT(message, Not(HasSubstr("needle")));
  }
}

TEST(RunnerEnv, TheFileMustBeOursAndSmall) {
  const testing::Directory directory;
  const std::string path = directory.path() + "/runner.env";
  const auto read = [&path](std::string* message) {
    return status_of([&] { read_runner_env(path); }, message);
  };
  std::string message;
  EXPECT_EQ(read(&message), Status::invalid);
  EXPECT_THAT(message, HasSubstr(path));
  testing::write_text(path, "A=1\n", 0600);
  EXPECT_EQ(read_runner_env(path), (Variables{{"A", "1"}}));
  std::filesystem::permissions(path, std::filesystem::perms(0622));
  EXPECT_EQ(read(&message), Status::invalid);
  EXPECT_THAT(message, HasSubstr("changed by others"));
  testing::write_text(path, "A=" + std::string(70000, 'x'), 0600);
  EXPECT_EQ(read(&message), Status::invalid);
  EXPECT_THAT(message, HasSubstr("larger than 64 KiB"));
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_EQ(read(&message), Status::invalid);
}

TEST(Environment, LaterRulesWin) {
  const Variables own = {{"PATH", "/own"},
                         {"LANG", "de_DE"},
                         {"LC_TIME", "C"},
                         {"SECRET_OF_AGENT", "x"},
                         {"HOME", "/root"},
                         {"TMPDIR", "/tmp"},
                         {"NOTIFY_SOCKET", "/run/x"},
                         {"https_proxy", "http://p"},
                         {"LISTEN_FDS", "3"}};
  const Variables operators = {{"PATH", "/file"}, {"DOTNET_CLI_TELEMETRY_OPTOUT", "0"}, {"EXTRA", "1"}};
  EXPECT_EQ(build_environment(own, default_inherit(), operators, {"job1", 2001, 2001}, "/r"),
            (std::vector<std::string>{"ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE=1",
                                      "DOTNET_CLI_TELEMETRY_OPTOUT=0", "EXTRA=1", "HOME=/r/_home",
                                      "LANG=de_DE", "LC_TIME=C", "LOGNAME=job1", "PATH=/file",
                                      "POWERSHELL_TELEMETRY_OPTOUT=1", "TEMP=/r/_temp", "TMP=/r/_temp",
                                      "TMPDIR=/r/_temp", "USER=job1", "https_proxy=http://p"}));
}

TEST(Environment, ItStartsEmptyAndKnowsRoot) {
  const auto bare = build_environment({{"A", "1"}}, {}, {}, {"2001", 2001, 2001}, "/r");
  EXPECT_THAT(bare, ::testing::Contains("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
  EXPECT_THAT(bare, ::testing::Contains("LANG=C.UTF-8"));
  EXPECT_THAT(bare, Not(::testing::Contains("A=1")));
  EXPECT_THAT(bare, Not(::testing::Contains("RUNNER_ALLOW_RUNASROOT=1")));
  EXPECT_THAT(build_environment({}, {}, {}, {"root", 0, 0}, "/r"),
              ::testing::Contains("RUNNER_ALLOW_RUNASROOT=1"));
  EXPECT_THAT(build_environment({{"MY_A", "1"}, {"MINE", "2"}}, {"MY_*"}, {}, {"x", 1, 1}, "/r"),
              ::testing::AllOf(::testing::Contains("MY_A=1"), Not(::testing::Contains("MINE=2"))));
}

}  // namespace
}  // namespace native
