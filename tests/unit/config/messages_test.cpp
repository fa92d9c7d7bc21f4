// What an operator reads first about a wrong file, word by word.
#include <gtest/gtest.h>

#include "config/config.hpp"

namespace agent::config {
namespace {

const std::string kInstances =
    "state: /s\n"
    "gateways:\n"
    "  - {name: hub, plugin: github}\n"
    "package_sources:\n"
    "  - {name: shelf, plugin: mirror}\n"
    "providers:\n"
    "  - {name: native, plugin: native}\n";
const std::string kPolicy = kInstances +
                            "policies:\n"
                            "  - name: web\n"
                            "    target: o/r\n"
                            "    root: /srv/web\n"
                            "    labels: [x]\n";

struct Row {
  const char* name;
  std::string text;
  const char* message;  // LINE:COLUMN: what, or only what
};

const Row kRows[] = {
    {"empty_file", "", "the file is empty; it needs at least `state` and the policies"},
    {"only_a_comment", "# nothing\n", "the file is empty; it needs at least `state` and the policies"},
    {"a_list", "- state\n", "1:1: the file must be a map of keys and values, not a list"},
    {"unclosed_list", "state: [a\n", "2:1: this is not YAML: end of sequence flow not found"},
    {"two_colons", "state: a: b\n", "1:9: this is not YAML: illegal map value"},
    {"second_document", "state: /s\n---\nstate: /t\n",
     "2:1: a second document begins here; the file must hold exactly one"},
    {"second_document_end", "state: /s\n...\nstate: /t\n",
     "3:1: a second document begins here; the file must hold exactly one"},
    {"tab", "state: /s\nhost:\n\tcapacity: 1\n", "3:1: a tab cannot indent; use spaces"},
    {"invalid_utf8", "state: \"/\377\"\n", "1:10: this is not UTF-8; save the file in that encoding"},
    {"overlong_utf8", "state: \"/\300\257\"\n", "1:10: this is not UTF-8; save the file in that encoding"},
    {"surrogate", "state: \"/\355\240\200\"\n", "1:10: this is not UTF-8; save the file in that encoding"},
    {"nul", std::string("state: \"/\000\"\n", 12), "1:10: a control character stands here; remove it"},
    {"column_in_characters", "state: /s\nhost: {\"\303\251\": 1, capcity: 2}\n",
     "2:8: unknown key `\303\251` in host."},
    {"anchor", "state: &a /s\n", "1:8: anchors (&name) are not used here; leave it out"},
    {"alias", "state: /s\nlog: &l {level: info}\nhost: *l\n",
     "2:6: anchors (&name) are not used here; leave it out"},
    {"merge", "state: /s\nhost: {<<: {capacity: 1}}\n",
     "2:8: merge keys (<<) are not used here; write the values out"},
    {"tag", "state: !!str /s\n", "1:8: tags (!name) are not used here; leave it out"},
    {"local_tag", "state: !path /s\n", "1:8: tags (!name) are not used here; leave it out"},
    {"duplicate", "state: /s\nstate: /t\n",
     "2:1: the key `state` was given already in line 1; a key counts once"},
    {"duplicate_inside", "state: /s\nhost: {capacity: 1, capacity: 2}\n",
     "2:21: the key `capacity` was given already in line 2; a key counts once"},
    {"unknown_with_suggestion", "state: /s\npolices: []\n",
     "2:1: unknown key `polices` in the configuration. Did you mean `policies`?"},
    {"unknown_without_suggestion", "state: /s\ntelemetry: true\n",
     "2:1: unknown key `telemetry` in the configuration."},
    {"unknown_in_policy", kPolicy + "    lables: [y]\n",
     "13:5: unknown key `lables` in a policy. Did you mean `labels`?"},
    {"case_of_a_key", "State: /s\n", "1:1: state is missing in the configuration"},
    {"null_tilde", "state: ~\n", "1:1: state has no value; write one or remove the key"},
    {"null_word", "state: null\n", "1:1: state has no value; write one or remove the key"},
    {"missing_value", "state:\n", "1:1: state has no value; write one or remove the key"},
    {"missing_state", "host: {capacity: 1}\n", "1:1: state is missing in the configuration"},
    {"home", "state: ~/rm\n", "1:8: state must be an absolute path, not `~/rm`; nothing is expanded in it"},
    {"relative", "state: rm\n", "1:8: state must be an absolute path, not `rm`; nothing is expanded in it"},
    {"dots", "state: /a/../b\n", "1:8: state must not hold `.` or `..`: `/a/../b`"},
    {"octal", "state: /s\nhost: {capacity: 010}\n",
     "2:18: capacity must be a whole number, not the unquoted `010`"},
    {"octal_new", "state: /s\nhost: {capacity: 0o10}\n",
     "2:18: capacity must be a whole number, not the unquoted `0o10`"},
    {"hexadecimal", "state: /s\nhost: {capacity: 0x1F}\n",
     "2:18: capacity must be a whole number, not the unquoted `0x1F`"},
    {"exponent", "state: /s\nhost: {capacity: 1e3}\n",
     "2:18: capacity must be a whole number, not the number `1e3`"},
    {"underscore", "state: /s\nhost: {capacity: 1_000}\n",
     "2:18: capacity must be a whole number, not the unquoted `1_000`"},
    {"plus", "state: /s\nhost: {capacity: +5}\n",
     "2:18: capacity must be a whole number, not the unquoted `+5`"},
    {"sexagesimal", "state: /s\nhost: {drain_timeout: 1:30}\n",
     "2:23: drain_timeout must be a duration with its unit, such as 500ms, 60s, 5m, 6h or 30d, not the text "
     "`1:30`"},
    {"infinity", "state: /s\nhost: {capacity: .inf}\n",
     "2:18: capacity must be a whole number, not the unquoted `.inf`"},
    {"too_small", "state: /s\nhost: {capacity: 0}\n", "2:18: capacity must be between 1 and 10000"},
    {"too_large", "state: /s\nhost: {capacity: 10001}\n", "2:18: capacity must be between 1 and 10000"},
    {"beyond_64_bits", "state: /s\nhost: {capacity: 18446744073709551616}\n",
     "2:18: capacity must be between 1 and 10000"},
    {"negative", "state: /s\nhost: {capacity: -1}\n", "2:18: capacity must be between 1 and 10000"},
    {"quoted_number", "state: /s\nhost: {capacity: \"4\"}\n",
     "2:18: capacity must be a whole number, not the text `4`"},
    {"yes", "state: /s\npolling: {allow_below_floor: yes}\n",
     "2:30: allow_below_floor must be true or false, not the unquoted `yes`"},
    {"on", "state: /s\npolling: {allow_below_floor: on}\n",
     "2:30: allow_below_floor must be true or false, not the unquoted `on`"},
    {"y", "state: /s\npolling: {allow_below_floor: y}\n",
     "2:30: allow_below_floor must be true or false, not the unquoted `y`"},
    {"capital_true", "state: /s\npolling: {allow_below_floor: True}\n",
     "2:30: allow_below_floor must be true or false, not the unquoted `True`"},
    {"no_as_a_name", "state: /s\nproviders:\n  - {name: no, plugin: native}\n",
     "3:12: name must be text; YAML may read the unquoted `no` as something else, so put it in quotes"},
    {"on_in_plugin_config", "state: /s\nproviders:\n  - {name: p, plugin: native, config: {x: on}}\n",
     "3:43: YAML may read the unquoted `on` as something else; write true or false, a plain number, or put "
     "it in quotes"},
    {"duration_without_unit", "state: /s\nhost: {drain_timeout: 60}\n",
     "2:23: drain_timeout must be a duration with its unit, such as 500ms, 60s, 5m, 6h or 30d, not the "
     "number `60`"},
    {"duration_with_blank", "state: /s\nhost: {drain_timeout: 60 s}\n",
     "2:23: drain_timeout must be a duration with its unit, such as 500ms, 60s, 5m, 6h or 30d, not the text "
     "`60 s`"},
    {"size_in_gigabytes", kPolicy + "    profile: {memory: 4GB}\n",
     "13:23: memory must be a size with its unit, such as 512MiB or 4GiB, not the text `4GB`"},
    {"token_in_the_clear",
     "state: /s\ngateways:\n  - {name: hub, plugin: github, config: {token: hunter2}}\n",
     "3:49: `token` must not hold the secret itself; write file:/absolute/path, env:NAME or credential:NAME"},
    {"token_shape_anywhere",
     "state: /s\ngateways:\n  - {name: hub, plugin: github, config: {url: "
     "ghp_0123456789abcdefghij0123456789abcdef}}\n",
     "3:47: this looks like a secret; keep it in a file and write file:/absolute/path, env:NAME or "
     "credential:NAME where a plugin asks for it"},
    {"pem_in_the_clear",
     "state: /s\ngateways:\n  - name: hub\n    plugin: github\n    config:\n      app:\n        private_key: "
     "|\n          -----BEGIN PRIVATE KEY-----\n          MIIEvQ\n          -----END PRIVATE KEY-----\n",
     "7:22: `private_key` must not hold the secret itself; write file:/absolute/path, env:NAME or "
     "credential:NAME"},
    {"relative_secret",
     "state: /s\ngateways:\n  - {name: hub, plugin: github, config: {token: \"file:token\"}}\n",
     "3:49: `token` must not hold the secret itself; write file:/absolute/path, env:NAME or credential:NAME"},
    {"password_in_a_url",
     "state: /s\ngateways:\n  - {name: hub, plugin: github, config: {proxy: \"http://u:p@h:1\"}}\n",
     "3:49: this looks like a secret; keep it in a file and write file:/absolute/path, env:NAME or "
     "credential:NAME where a plugin asks for it"},
    {"gateway_that_is_not_there", kPolicy + "    gateway: gitlab\n",
     "13:14: gateway `gitlab` is not configured."},
    {"misspelt_provider", kPolicy + "    provider: nativ\n",
     "13:15: provider `nativ` is not configured. Did you mean `native`?"},
    {"gateway_as_provider", kPolicy + "    provider: hub\n",
     "13:15: provider `hub` is a gateway; name another instance"},
    {"source_as_gateway", kPolicy + "    gateway: shelf\n",
     "13:14: gateway `shelf` is a package source; name another instance"},
    {"provider_as_packages", kPolicy + "    packages: native\n",
     "13:15: packages `native` is a provider; name another instance"},
    {"name_of_two_kinds",
     "state: /s\ngateways:\n  - {name: x, plugin: github}\nproviders:\n  - {name: x, plugin: native}\n",
     "5:12: the name `x` was given already in line 3; gateways, package sources and providers share their "
     "names"},
    {"list_where_a_map_belongs", "state: /s\nhost: [1]\n",
     "2:7: host must be a map of keys and values, not a list"},
    {"map_where_a_list_belongs", "state: /s\nproviders: {name: x}\n",
     "2:12: providers must be a list, not a map"},
    {"text_where_a_map_belongs", "state: /s\nproviders: [native]\n",
     "2:13: each of providers must be a map of keys and values, not the text `native`"},
    {"nested_too_deeply", "state: /s\nlog: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n",
     "2:29: nested too deeply; at most 24 levels"},
    {"equal_policies", kPolicy + "  - {name: api, target: o/r, root: /srv/api, labels: [X]}\n",
     "13:12: policies `web` and `api`: equal target, labels, runner group and priority; give one of them "
     "another priority"},
    {"root_inside_state", kInstances + "policies:\n  - {name: web, target: o/r, root: /s/web, labels: [x]}\n",
     "9:36: root and the state directory must not lie in each other; jobs write to a root"},
};

class FirstMessage : public ::testing::TestWithParam<Row> {};

TEST_P(FirstMessage, IsThis) {
  const Loaded loaded = load_text(GetParam().text, "f");
  EXPECT_FALSE(loaded.configuration);
  ASSERT_FALSE(loaded.problems.empty());
  const Problem& first = loaded.problems.front();
  const std::string place =
      first.line == 0 ? "" : std::to_string(first.line) + ":" + std::to_string(first.column) + ": ";
  EXPECT_EQ(place + first.message, GetParam().message);
  EXPECT_EQ(to_string(first).find("hunter2"), std::string::npos);
  EXPECT_EQ(to_string(first).find("MIIEvQ"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Table, FirstMessage, ::testing::ValuesIn(kRows),
                         [](const auto& each) { return each.param.name; });

TEST(Caret, StandsBelowThePlace) {
  const auto shown = [](const std::string& text) { return to_string(load_text(text, "f").problems.front()); };
  EXPECT_EQ(shown("state: /s\nhost: {capacity: four}\n"),
            "f:2:18: capacity must be a whole number, not the text `four`\n"
            "    host: {capacity: four}\n"
            "                     ^");
  EXPECT_EQ(shown("state: /s\nlog: {file: \"/\303\251\", level: loud}\n"),
            "f:2:26: level must be debug, info, warning or error, not `loud`.\n"
            "    log: {file: \"/\303\251\", level: loud}\n"
            "                             ^")
      << "columns are characters";
  EXPECT_EQ(shown("state: /s\nhost:\n\tcapacity: 1\n"), "f:3:1: a tab cannot indent; use spaces")
      << "what the line is part of is not known";
}

TEST(Caret, IsLeftOutBehindWhatIsRedacted) {
  const Loaded loaded = load_text(
      "state: /s\ngateways:\n  - {name: a, plugin: a, config: {url: \"https://h/?a=hunter2\", mode: on}}\n",
      "f");
  ASSERT_EQ(loaded.problems.size(), 1U);
  EXPECT_EQ(loaded.problems[0].text,
            "  - {name: a, plugin: a, config: {url: \"https://h/?a=[redacted]\", mode: on}}");
  EXPECT_EQ(loaded.problems[0].caret, 0);
  EXPECT_EQ(to_string(loaded.problems[0]).find('^'), std::string::npos);
}

TEST(Places, AreKnownForEveryPartOfAnInstancesConfiguration) {
  const Loaded loaded = load_text(
      "state: /s\ngateways:\n  - name: a\n    plugin: p\n    config:\n      list:\n        - {\"x/y\": 1}\n",
      "f");
  ASSERT_TRUE(loaded.configuration);
  const Instance& one = loaded.configuration->gateways.front();
  const auto value = [&one](const char* pointer) {
    const Place& place = one.value_places.at(pointer);
    return std::pair(place.line, place.column);
  };
  EXPECT_EQ(value("/list/0/x~1y"), std::pair(7, 19));
  EXPECT_EQ(value("/list/0"), std::pair(7, 11));
  EXPECT_EQ(one.key_places.at("/list").line, 6);
  EXPECT_EQ(one.plugin_place.line, 4);
  const auto shown =
      problems_of(loaded, "f", {{{7, 19}, "second", true}, {one.plugin_place, "first", false}});
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(to_string(shown[1]), "f:7:19: second") << "a line that may hold a secret is not shown";
  EXPECT_EQ(to_string(shown[0]), "f:4:13: first\n        plugin: p\n                ^");
}

}  // namespace
}  // namespace agent::config
