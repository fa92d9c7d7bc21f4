// What the daemon makes of each library of the zoo before it relies on it.
#include <algorithm>
#include <filesystem>

#include "unit/plugin/fixture.hpp"

namespace {

using namespace fixture;
using plugin::PluginHost;

struct Defect {
  const char* id;
  std::string refusal;  // a part of it; empty: nothing shows before a runner is started, and it is admitted
  const char* config = "{}";
};
void PrintTo(const Defect& defect, std::ostream* out) { *out << defect.id; }

class Trial : public testing::TestWithParam<Defect> {};

TEST_P(Trial, refuses_what_shows_before_a_runner_is_started) {
  const Defect& defect = GetParam();
  TempDirectory work;
  RecordingLog log;
  plugin::HostOptions chosen = options();
  chosen.checker = RMGR_BIN_DIR "/rmgr-plugin-check";
  chosen.checker_patience = domain::Millis{3'000};
  chosen.work_directory = work.str();
  PluginHost host(chosen, log);
  const auto added =
      host.add_instance(spec(defect.id, plugin::ComponentKind::execution_provider, defect.config));
  ASSERT_EQ(host.status().size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(work / ".trial")) << "whatever ended the child, nothing of it is left";
  if (defect.refusal.empty()) {
    EXPECT_TRUE(added) << added.error().message;
    EXPECT_TRUE(host.status().front().ready);
    return;
  }
  ASSERT_FALSE(added);
  EXPECT_NE(added.error().message.find(defect.refusal), std::string::npos) << added.error().message;
  EXPECT_EQ(host.status().front().refusal, added.error().message) << "the reason stands in status";
}

std::string name_of(const testing::TestParamInfo<Defect>& tested) {
  std::string name(tested.param.id);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Refused, Trial,
    testing::ValuesIn(std::vector<Defect>{
        {"wrong-magic", "wrong magic number"},
        {"changes-directory", "It changed the process's directory"},
        {"changes-umask", "It changed the process's umask"},
        {"changes-locale", "It changed the process's locale"},
        {"changes-signals", "It changed which signals"},
        {"changes-environment", "It changed the process's environment"},
        {"crashes-at-load", "Loading it ended a child process (signal 6)"},
        {"other-minor",
         "built for plugin ABI " + abi_version(0, 1) + " and this host offers " + abi_version()},
        {"other-major", "built for plugin ABI " + abi_version(1) + " and this host offers " + abi_version()},
        {"newer-minor", "needs plugin ABI " + abi_version(0, 1) + " but was built with " + abi_version()},
        {"short-struct", "Its entry object is too short"},
        {"other-manifest", "its version is 9.9.9, but its manifest says 0.0.1"},
        {"crashes-in-init", "Loading it ended a child process (signal 6)"},
        {"exits-in-init", "Loading it ended a child process (exit code 0)"},
        {"crashes-on-destroy", "Destroying an instance of it ended a child process (signal 6)"},
        {"hangs-in-init", "Loading it took too long in a child process"},
    }),
    name_of);

// The conformance suite finds these; the daemon has to live with them.
INSTANTIATE_TEST_SUITE_P(Admitted, Trial,
                         testing::ValuesIn(std::vector<Defect>{
                             {"two-symbols", ""},
                             {"executable-stack", ""},
                             {"answers-any-interface", ""},
                             {"throws", ""},
                             {"throws-static", ""},
                             {"explains-twice", ""},
                             {"bad-utf8", ""},
                             {"unknown-status", ""},
                             {"late-write", ""},
                             {"foreign-thread", ""},
                             {"ignores-refusal", ""},
                             {"exact-size", ""},
                             {"accepts-unknown-keys", ""},
                             {"leaks-descriptors", ""},
                             {"leaves-threads", ""},
                             {"leaves-children", ""},
                             {"prints", ""},
                             {"needs-clock", ""},
                             {"past-deadline", ""},
                             {"ignores-cancel", ""},
                             {"reuses-secret", ""},
                             {"secret-in-identity", ""},
                             {"missing-on-error", ""},
                             {"forgets", ""},
                             {"not-idempotent", ""},
                             {"runs-when-held", ""},
                             {"ignores-required", "", R"({"url": "x"})"},
                         }),
                         name_of);

}  // namespace
