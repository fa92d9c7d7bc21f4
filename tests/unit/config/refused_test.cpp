// Wrong configurations, each with the message and the place that an operator sees.
#include <gtest/gtest.h>

#include <algorithm>

#include "config/config.hpp"

namespace agent::config {
namespace {

struct Case {
  std::string name, text;
  int line, column;
  std::string message;  // a part of it
};

// Twelve lines that are right; a case adds its own behind them or replaces them.
const std::string kHead =
    "state: /var/lib/rm\n"                    // 1
    "gateways:\n"                             // 2
    "  - {name: github, plugin: github}\n"    // 3
    "package_sources:\n"                      // 4
    "  - {name: packages, plugin: github}\n"  // 5
    "providers:\n"                            // 6
    "  - {name: native, plugin: native}\n";   // 7
const std::string kPolicy = kHead +
                            "policies:\n"                   // 8
                            "  - name: web\n"               // 9
                            "    target: owner/repo\n"      // 10
                            "    root: /srv/web\n"          // 11
                            "    labels: [linux-build]\n";  // 12
const std::string kTwo = kPolicy +
                         "  - name: api\n"          // 13
                         "    target: owner/api\n"  // 14
                         "    labels: [api]\n";     // 15

class Refused : public ::testing::TestWithParam<Case> {};

TEST_P(Refused, SaysWhatAndWhere) {
  const Loaded loaded = load_text(GetParam().text, "f.yaml");
  EXPECT_FALSE(loaded.configuration);
  std::string all;
  bool found = false;
  for (const Problem& problem : loaded.problems) {
    all += to_string(problem) + "\n";
    found = found || (problem.line == GetParam().line && problem.column == GetParam().column &&
                      problem.message.find(GetParam().message) != std::string::npos);
  }
  EXPECT_TRUE(found) << all;
  EXPECT_EQ(loaded.problems.size(), 1U) << all;
}

// What differs for a policy is written at its provider.
const std::string kOverride =
    "state: /s\n"                                // 1
    "gateways: [{name: github, plugin: g}]\n"    // 2
    "package_sources: [{name: p, plugin: g}]\n"  // 3
    "providers:\n"                               // 4
    "  - name: native\n"                         // 5
    "    plugin: native\n"                       // 6
    "    config:\n"                              // 7
    "      policies:\n";                         // 8
const std::string kWeb =
    "policies: [{name: web, target: o/r, root: /srv/web, labels: [x], provider: native}]\n";

INSTANTIATE_TEST_SUITE_P(
    Overrides, Refused,
    ::testing::Values(
        Case{"of_no_policy", kOverride + "        web: {nice: 1}\n        wbe: {nice: 2}\n" + kWeb, 10, 9,
             "no policy of the provider `native` has the name `wbe`"},
        Case{"of_another_provider",
             kOverride + "        web: {nice: 1}\n  - {name: second, plugin: native}\n" +
                 "policies: [{name: web, target: o/r, root: /srv/web, labels: [x], provider: second}]\n",
             9, 9, "no policy of the provider `native` has the name `web`"}),
    [](const auto& param) { return param.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Document, Refused,
    ::testing::Values(
        Case{"empty", "", 0, 0, "the file is empty"},
        Case{"comment_only", "# nothing\n", 0, 0, "the file is empty"},
        Case{"null", "~\n", 0, 0, "must be a map of keys and values, not nothing"},
        Case{"list", "- a\n", 1, 1, "must be a map of keys and values, not a list"},
        Case{"scalar", "state\n", 1, 1, "not the text `state`"},
        Case{"no_state", "host: {capacity: 1}\n", 1, 1, "state is missing in the configuration"},
        Case{"broken_syntax", "state: [a\n", 2, 1, "this is not YAML"},
        Case{"bad_nesting", "state: a: b\n", 1, 9, "this is not YAML"},
        Case{"two_documents", kHead + "---\nstate: /x\n", 8, 1, "a second document begins here"},
        Case{"duplicate", kHead + "state: /var/lib/other\n", 8, 1, "`state` was given already in line 1"},
        Case{"duplicate_inside", kPolicy + "    root: /srv/other\n", 13, 5,
             "`root` was given already in line 11"},
        Case{"tab", kHead + "host:\n\tcapacity: 1\n", 9, 1, "a tab cannot indent"},
        Case{"control_character", kHead + "log: {level: \x01}\n", 8, 14, "a control character stands here"},
        Case{"not_utf8", kHead + "log: {level: \xff}\n", 8, 14, "this is not UTF-8"},
        Case{"unknown_alias", kHead + "log: *base\n", 8, 6, "this is not YAML"},
        Case{"anchor", kHead + "log: &base {level: info}\n", 8, 6, "anchors (&name) are not used here"},
        Case{"tag", kHead + "log: {level: !!str info}\n", 8, 14, "tags (!name) are not used here"},
        Case{"merge", kHead + "log: {<<: {level: info}}\n", 8, 7, "merge keys (<<) are not used here"},
        Case{"map_as_key", kHead + "? {a: b}\n: 1\n", 8, 3, "a key must be a plain word"},
        Case{"too_deep", kHead + "log: " + std::string(40, '[') + std::string(40, ']') + "\n", 8, 29,
             "nested too deeply"},
        Case{"too_large", kHead + "#" + std::string(1024 * 1024, 'x'), 0, 0, "larger than 1 MiB"},
        Case{"too_many_values",
             kHead + "x: [" +
                 [] {
                   std::string all;
                   for (int i = 0; i < 50'100; ++i)
                     all += "1,";
                   return all;
                 }() +
                 "]\n",
             8, 99'957, "too many values"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Values, Refused,
    ::testing::Values(
        Case{"unknown_key", kHead + "hist: {capacity: 1}\n", 8, 1,
             "unknown key `hist` in the configuration. Did you mean `host`?"},
        Case{"unknown_key_no_idea", kHead + "telemetry: true\n", 8, 1,
             "unknown key `telemetry` in the configuration."},
        Case{"unknown_inside", kHead + "host: {capcity: 1}\n", 8, 8, "Did you mean `capacity`?"},
        Case{"unknown_in_policy", kPolicy + "    lables: [x]\n", 13, 5,
             "unknown key `lables` in a policy. Did you mean `labels`?"},
        Case{"relative_state", "state: var/lib\n", 1, 8, "state must be an absolute path, not `var/lib`"},
        Case{"home", "state: ~/rm\n", 1, 8, "nothing is expanded in it"},
        Case{"dots", "state: /var/../lib\n", 1, 8, "must not hold `.` or `..`"},
        Case{"top", "state: //\n", 1, 8, "must not be the top of the file system"},
        Case{"path_number", "state: 7\n", 1, 8, "state must be text, not the number `7`"},
        Case{"no_value", kHead + "host:\nlog: {level: info}\n", 8, 1, "host has no value"},
        Case{"not_a_map", kHead + "host: 4\n", 8, 7,
             "host must be a map of keys and values, not the number `4`"},
        Case{"not_a_list", kHead + "plugins: {directories: /usr/lib}\n", 8, 24,
             "directories must be a list, not the text `/usr/lib`"},
        Case{"integer_text", kHead + "host: {capacity: four}\n", 8, 18,
             "capacity must be a whole number, not the text `four`"},
        Case{"integer_quoted", kHead + "host: {capacity: \"4\"}\n", 8, 18,
             "must be a whole number, not the text `4`"},
        Case{"integer_octal", kHead + "host: {capacity: 010}\n", 8, 18,
             "must be a whole number, not the unquoted `010`"},
        Case{"integer_real", kHead + "host: {capacity: 1.5}\n", 8, 18,
             "must be a whole number, not the number `1.5`"},
        Case{"integer_low", kHead + "host: {capacity: 0}\n", 8, 18, "capacity must be between 1 and 10000"},
        Case{"integer_huge", kHead + "host: {capacity: 99999999999999999999}\n", 8, 18, "must be between"},
        Case{"boolean_yes", kHead + "polling: {allow_below_floor: yes}\n", 8, 30,
             "must be true or false, not the unquoted `yes`"},
        Case{"boolean_quoted", kHead + "polling: {allow_below_floor: \"true\"}\n", 8, 30,
             "must be true or false"},
        Case{"duration_bare", kHead + "host: {drain_timeout: 60}\n", 8, 23,
             "must be a duration with its unit"},
        Case{"duration_unit", kHead + "host: {drain_timeout: 60sec}\n", 8, 23,
             "must be a duration with its unit"},
        Case{"duration_range", kHead + "host: {drain_timeout: 2h}\n", 8, 23,
             "drain_timeout must be between 1s and 1h"},
        Case{"duration_overflow", kHead + "host: {drain_timeout: 999999999999999999d}\n", 8, 23,
             "must be a duration"},
        Case{"quiet_floor", kHead + "polling: {quiet: 1s}\n", 8, 18, "quiet must be between 5s and 15m"},
        Case{"active_floor", kHead + "polling: {active: 10s}\n", 8, 19, "active must be between 30s and 15m"},
        Case{"word", kHead + "log: {level: infos}\n", 8, 14,
             "level must be debug, info, warning or error, not `infos`. Did you mean `info`?"},
        Case{"pin", kHead + "packages: {pins: {\"2.330.0\": abc}}\n", 8, 30,
             "the pin of `2.330.0` must be the SHA-256"},
        Case{"pin_version", kHead + "packages: {pins: {\"a/b\": abc}}\n", 8, 19, "must be a runner version"},
        Case{"long_socket", kHead + "control: {socket: /" + std::string(120, 'x') + "}\n", 8, 19,
             "at most 107 fit"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Instances, Refused,
    ::testing::Values(
        Case{"no_plugin", "state: /s\nproviders:\n  - {name: a}\n", 3, 5, "plugin is missing in a provider"},
        Case{"no_name", "state: /s\nproviders:\n  - {plugin: a}\n", 3, 5, "name is missing in a provider"},
        Case{"trap_name", "state: /s\nproviders:\n  - {name: on, plugin: a}\n", 3, 12,
             "YAML may read the unquoted `on` as something else"},
        Case{"bad_name", "state: /s\nproviders:\n  - {name: a/b, plugin: a}\n", 3, 12,
             "name must be 1 to 64 letters"},
        Case{"bad_plugin", "state: /s\nproviders:\n  - {name: a, plugin: ../a}\n", 3, 23,
             "plugin must be 1 to 64 letters"},
        Case{"name_twice", kHead + "  - {name: github, plugin: x}\n", 8, 12,
             "`github` was given already in line 3"},
        Case{"digest", "state: /s\nproviders:\n  - {name: a, plugin: a, sha256: abc}\n", 3, 34,
             "64 hexadecimal digits"},
        Case{"required_disabled",
             "state: /s\nproviders:\n  - {name: a, plugin: a, required: true, enabled: false}\n", 3, 36,
             "exclude each other"},
        Case{"item_is_text", "state: /s\nproviders:\n  - native\n", 3, 5,
             "each of providers must be a map of keys and values"},
        Case{"config_is_list", "state: /s\nproviders:\n  - {name: a, plugin: a, config: [x]}\n", 3, 34,
             "config must be a map"},
        Case{"config_null", "state: /s\nproviders:\n  - {name: a, plugin: a, config: {x: }}\n", 3, 35,
             "there is no value here"},
        Case{"config_trap", "state: /s\nproviders:\n  - {name: a, plugin: a, config: {x: off}}\n", 3, 38,
             "YAML may read the unquoted `off`"},
        Case{"config_number",
             "state: /s\nproviders:\n  - {name: a, plugin: a, config: {x: 99999999999999999999}}\n", 3, 38,
             "is too large"},
        Case{"secret_key",
             "state: /s\nproviders:\n  - name: a\n    plugin: a\n    config: {token: hunter2}\n", 5, 21,
             "`token` must not hold the secret itself"},
        Case{"secret_camel",
             "state: /s\nproviders:\n  - name: a\n    plugin: a\n    config: {privateKey: x}\n", 5, 26,
             "`privateKey` must not hold the secret itself"},
        Case{"secret_list",
             "state: /s\nproviders:\n  - name: a\n    plugin: a\n    config: {webhook_secrets: [\"file:/a\", "
             "12345]}\n",
             5, 43, "must not hold the secret itself"},
        Case{"secret_reference",
             "state: /s\nproviders:\n  - name: a\n    plugin: a\n    config: {token: \"file:relative\"}\n", 5,
             21, "write file:/absolute/path"},
        Case{"secret_value",
             "state: /s\nproviders:\n  - name: a\n    plugin: a\n    config: {note: "
             "ghp_0123456789abcdefghij}\n",
             5, 20, "this looks like a secret"},
        Case{"secret_url",
             "state: /s\nproviders:\n  - name: a\n    plugin: a\n    config: {proxy: \"http://u:p@h:1\"}\n",
             5, 21, "this looks like a secret"}),
    [](const auto& each) { return each.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Policies, Refused,
    ::testing::Values(
        Case{"no_target", kHead + "policies:\n  - {name: a, labels: [x], root: /r}\n", 9, 5,
             "target is missing in a policy"},
        Case{"no_root", kHead + "policies:\n  - {name: a, labels: [x], target: o/r}\n", 9, 5,
             "root is missing in a policy"},
        Case{"no_labels", kHead + "policies:\n  - {name: a, root: /r, target: o/r}\n", 9, 5,
             "labels is missing in a policy"},
        Case{"bad_target",
             kHead + "policies:\n  - {name: a, root: /r, labels: [x], target: \"https://github.com/o/r\"}\n",
             9, 46, "owner/repo"},
        Case{"bad_policy_name", kHead + "policies:\n  - {name: a b, root: /r, labels: [x], target: o/r}\n", 9,
             12, "name: 1 to 64 letters"},
        Case{"unknown_gateway", kPolicy + "    gateway: gitlab\n", 13, 14,
             "gateway `gitlab` is not configured."},
        Case{"misspelt_provider", kPolicy + "    provider: nativ\n", 13, 15, "Did you mean `native`?"},
        Case{"no_gateway_at_all",
             "state: /s\npackage_sources:\n  - {name: p, plugin: p}\nproviders:\n  - {name: na, plugin: na}\n"
             "policies:\n  - {name: a, root: /r, labels: [x], target: o/r}\n",
             7, 5, "gateway is missing in a policy; none is configured"},
        Case{"which_gateway",
             "state: /s\ngateways:\n  - {name: g, plugin: g}\n  - {name: h, plugin: g}\npackage_sources:\n  "
             "- {name: p, plugin: p}\nproviders:\n  - {name: nat, plugin: nat}\npolicies:\n  - {name: a, "
             "root: "
             "/r, labels: [x], target: o/r}\n",
             10, 5, "it may be left out only where there is exactly one"},
        Case{"label_number", kHead + "policies:\n  - {name: a, root: /r, labels: [x, 12], target: o/r}\n", 9,
             37, "each of labels must be text, not the number `12`"},
        Case{"label_comma", kHead + "policies:\n  - {name: a, root: /r, labels: [\"x,y\"], target: o/r}\n", 9,
             25, "labels: number 1"},
        Case{"label_twice", kHead + "policies:\n  - {name: a, root: /r, labels: [x, X], target: o/r}\n", 9,
             25, "labels: number 2 is there twice"},
        Case{"min_above_max", kPolicy + "    min: 3\n    max: 2\n", 13, 10, "min: must not be above max"},
        Case{"negative_max", kPolicy + "    max: 20000\n", 13, 10, "max: 0 to 10000"},
        Case{"group", kPolicy + "    runner_group_id: 0\n", 13, 22, "runner_group_id: 1 or more"},
        Case{"workspace", kPolicy + "    workspace: shared\n", 13, 16,
             "workspace must be ephemeral or persistent, not `shared`."},
        Case{"policy_state", kPolicy + "    state: pasued\n", 13, 12, "Did you mean `paused`?"},
        Case{"persistent_organization",
             kHead + "policies:\n  - {name: a, root: /r, labels: [x], target: o, workspace: persistent}\n", 9,
             60, "workspace: a persistent workspace serves one repository"},
        Case{"timeout_zero", kPolicy + "    timeouts: {idle: 0}\n", 13, 22, "timeouts.idle: more than 0"},
        Case{"timeout_unknown", kPolicy + "    timeouts: {idel: 1s}\n", 13, 16, "Did you mean `idle`?"},
        Case{"profile_cpu", kPolicy + "    profile: {cpu: two}\n", 13, 20, "cpu must be a number of cores"},
        Case{"profile_memory", kPolicy + "    profile: {memory: 4GB}\n", 13, 23,
             "memory must be a size with its unit"},
        Case{"root_in_state",
             kHead + "policies:\n  - {name: a, root: /var/lib/rm/x, labels: [x], target: o/r}\n", 9, 21,
             "must not lie in each other"},
        Case{"same_name", kPolicy + "  - {name: web, target: o/x, root: /x, labels: [yy]}\n", 13, 12,
             "the name `web` is there twice"},
        Case{"same_demand",
             kTwo + "    root: /srv/api\n  - {name: third, target: owner/API, root: /srv/t, labels: [API]}\n",
             17, 12, "equal target, labels, runner group and priority"}),
    [](const auto& each) { return each.param.name; });

TEST(Config, AllProblemsAtOnceInTheOrderOfTheFile) {
  const Loaded loaded = load_text(
      "state: relative\nhost: {capacity: 0, drain: 1s}\nlog: {level: loud}\npolicies:\n  - {name: a, max: "
      "many}\n",
      "x.yaml");
  std::vector<std::pair<int, int>> places;
  for (const Problem& problem : loaded.problems)
    places.emplace_back(problem.line, problem.column);
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  EXPECT_EQ(loaded.problems.size(), 11U);
}

TEST(Config, ProblemsShowNoLineWithASecret) {
  const Loaded loaded = load_text(
      "state: /s\nproviders:\n  - {name: a, plugin: a, config: {token: hunter2, mode: on}}\n", "dir/x.yaml");
  ASSERT_EQ(loaded.problems.size(), 2U);
  for (const Problem& problem : loaded.problems) {
    EXPECT_EQ(to_string(problem).find("hunter2"), std::string::npos);
    EXPECT_EQ(problem.text, "");
  }
  EXPECT_TRUE(to_string(loaded.problems[0]).starts_with("dir/x.yaml:3:42: `token` must not hold"))
      << to_string(loaded.problems[0]);
}

TEST(Config, BrokenSyntaxShowsNoSecret) {
  for (const std::string text : {"state: /s\npassword: hunter2: x\n", "token: [hunter2\n",
                                 "a: \"private_key\": hunter2\n", "tokn: ghp_0123456789abcdefghij: x\n"}) {
    for (const Problem& problem : load_text(text, "f").problems) {
      EXPECT_EQ(to_string(problem).find("hunter2"), std::string::npos) << to_string(problem);
      EXPECT_EQ(to_string(problem).find("0123456789"), std::string::npos) << to_string(problem);
    }
  }
}

TEST(Config, AMapHasBounds) {
  std::string text = "state: /s\n";
  for (int i = 0; i < 3'000; ++i)
    text += "k" + std::to_string(i) + ": 1\n";
  const Loaded loaded = load_text(text, "f");
  EXPECT_TRUE(std::any_of(loaded.problems.begin(), loaded.problems.end(), [](const Problem& problem) {
    return problem.message.find("too many keys") != std::string::npos;
  }));
}

TEST(Config, EndlessMistakesAreCutOff) {
  std::string text = "state: /s\n";
  for (int i = 0; i < 500; ++i)
    text += "unknown" + std::to_string(i) + ": 1\n";
  const Loaded loaded = load_text(text, "f");
  EXPECT_EQ(loaded.problems.size(), 101U);
  EXPECT_NE(loaded.problems.back().message.find("further problems"), std::string::npos);
}

}  // namespace
}  // namespace agent::config
