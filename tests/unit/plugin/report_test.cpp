// What a plugin prints while it is tried is no part of what is said about it.
#include <gmock/gmock.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers) setenv
#include <sys/stat.h>

#include "plugin/checker.hpp"
#include "plugin/config_check.hpp"
#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using plugin::ComponentKind;
using plugin::ConfigChecker;
using testing::HasSubstr;

// The dynamic loader of every child complains on standard error.
class NoisyLoader {
 public:
  NoisyLoader() { ::setenv("LD_PRELOAD", "/nonexistent/preloaded.so", 1); }
  ~NoisyLoader() { ::unsetenv("LD_PRELOAD"); }
  NoisyLoader(const NoisyLoader&) = delete;
  NoisyLoader& operator=(const NoisyLoader&) = delete;
};

class Report : public testing::Test {
 protected:
  Report() {
    chosen.checker = RMGR_BIN_DIR "/rmgr-plugin-check";
    chosen.work_directory = work.str();
  }
  // What the trial of the chatty plugin says; empty: it is admitted.
  std::string trial(const std::string& act, const std::string& id = "chatty") {
    const auto checked =
        plugin::check_in_child({.program = chosen.checker,
                                .library = zoo + "/" + id + ".so",
                                .plugin = id,
                                .interface = plugin::interface_of(ComponentKind::execution_provider),
                                .instance = "one",
                                .config_json = R"({"act": ")" + act + "\"}",
                                .patience = patience});
    return checked ? std::string() : checked.error().message;
  }
  std::string script(const std::string& text) {
    const std::string file = work / "checker";
    write_file(file, "#!/bin/sh\n" + text + "\n");
    ::chmod(file.c_str(), 0700);
    return file;
  }
  ConfigChecker::Findings findings(const std::string& id, const std::string& config) {
    return ConfigChecker(chosen).check(spec(id, ComponentKind::execution_provider, config));
  }

  TempDirectory work;
  plugin::HostOptions chosen = options();
  domain::Millis patience{60'000};
};

TEST_F(Report, IsNotWhatIsPrinted) {
  EXPECT_EQ(trial("kv"), "") << "kv may be used from several threads";
  EXPECT_EQ(trial("flood"), "");
  EXPECT_EQ(trial("flood", "floods"), "");
  EXPECT_EQ(trial("everywhere"), "") << "the report is not at a descriptor that one finds by accident";
  EXPECT_EQ(trial("refuse"), "The chatty plugin says no.");
}

TEST_F(Report, CannotBePrinted) {
  EXPECT_THAT(trial("done"), HasSubstr("Creating an instance of it ended a child process (exit code 0)"));
}

TEST_F(Report, ThatIsDamagedIsTheFaultOfThePlugin) {
  EXPECT_THAT(trial("spoil"), HasSubstr("Creating an instance of it damaged the report of its check"));
}

TEST_F(Report, EndsWithTheChildWhateverHoldsItsOutput) { EXPECT_EQ(trial("leave-child"), ""); }

TEST_F(Report, OfSchemasSurvivesNoise) {
  const NoisyLoader noise;
  for (const char* id : {"chatty", "floods"}) {
    const auto found = findings(id, R"({"act": "sing", "oddity": 1})");
    EXPECT_EQ(found.unchecked, "");
    ASSERT_EQ(found.problems.size(), 2U) << id;
    EXPECT_EQ(found.problems[0].pointer, "/act");
    EXPECT_EQ(found.problems[1].pointer, "/oddity");
  }
}

TEST_F(Report, ThatLacksTheSchemaIsAFinding) {
  auto found = ConfigChecker(chosen).check(spec("crashes-at-load", ComponentKind::gateway));
  EXPECT_THAT(found.unchecked, HasSubstr(zoo + "/crashes-at-load.so"));
  EXPECT_THAT(found.unchecked, HasSubstr("Loading it ended a child process (signal 6)"));
  EXPECT_TRUE(found.plugins_fault);
  EXPECT_TRUE(found.problems.empty());

  chosen.checker = script("echo 'odd library' >&2; exit 127");
  found = findings("chatty", "{}");
  EXPECT_THAT(found.unchecked, HasSubstr("ended before it began (exit code 127)"));
  EXPECT_THAT(found.unchecked, HasSubstr("odd library"));
  EXPECT_FALSE(found.plugins_fault);

  chosen.checker = "/nonexistent/checker";
  found = findings("chatty", "{}");
  EXPECT_THAT(found.unchecked, HasSubstr("cannot be started"));
  EXPECT_FALSE(found.plugins_fault);
}

TEST_F(Report, ThatIsNotAskedForBecauseOfThePinIsAFinding) {
  auto pinned = spec("chatty");
  pinned.sha256 = std::string(64, '0');
  const auto found = ConfigChecker(chosen).check(pinned);
  EXPECT_THAT(found.unchecked, HasSubstr("pins another"));
  EXPECT_TRUE(found.plugins_fault);
}

// A checker of another release knows neither the descriptor nor the word.
TEST_F(Report, OfWhatIsNoCheckerIsNotBelieved) {
  chosen.checker = script("echo '@Done'; exit 0");
  EXPECT_THAT(trial("kv"), HasSubstr("ended before it began"));
  chosen.checker = script("printf '@Done\\n' >&3; exit 0");
  EXPECT_NE(trial("kv"), "");
}

}  // namespace
