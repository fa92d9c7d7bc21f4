// No message about a wrong file, and no line that it shows, holds a secret, wherever the file has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/config.hpp"

namespace agent::config {
namespace {

// Text and digits: what must not be printed.
const std::string kNeedle = "hunter2";
const std::string kDigits = "0987654321";

const std::string kHead = "state: /s\ngateways:\n  - name: hub\n    plugin: github\n    config:\n";

struct Row {
  const char* name;
  std::string text;
  int line, column;
  const char* message;  // a part of what is said there
};

const char* const kClear = "must not hold the secret itself; write file:/absolute/path";
const char* const kLooks = "this looks like a secret; ";
const char* const kTrap = "put it in quotes";
const char* const kAnchor = "anchors (&name) are not used here; leave it out";
const char* const kAlias = "aliases (*name) are not used here; write the value out";

const std::string kPat = "ghp_hunter2abcdefghij0123456789abcdefghij";
const std::string kJwt = "eyJhbGciOiJub25lIn0.eyJodW50ZXIyIjoiaHVudGVyMiJ9.hunter2";

const Row kRows[] = {
    {"value_on_the_next_line", kHead + "      token:\n        hunter2\n", 7, 9, kClear},
    {"quoted_on_the_next_line", kHead + "      token:\n        \"hunter2\"\n", 7, 9, kClear},
    {"value_two_lines_below", kHead + "      token:\n\n        # below\n        hunter2\n", 9, 9, kClear},
    {"list_under_the_key", kHead + "      tokens:\n        - file:/a\n        - hunter2\n", 8, 11, kClear},
    {"list_at_the_key", kHead + "      tokens:\n      - hunter2\n", 7, 9, kClear},
    {"flow_list_over_lines", kHead + "      tokens: [\n        hunter2,\n        hunter2b]\n", 7, 9, kClear},
    {"flow_map_over_lines", kHead + "      x: {token:\n        hunter2,\n        mode: on}\n", 8, 15, kTrap},
    {"behind_the_end_of_a_value", kHead + "      x: {token: \"a\n        hunter2\", mode: on}\n", 7, 25,
     kTrap},
    {"map_under_the_key", kHead + "      credentials:\n        pass: hunter2\n        mode: on\n", 8, 15,
     kTrap},
    {"same_line_in_a_map", kHead + "      credentials: {pass: hunter2, mode: on}\n", 6, 42, kTrap},
    {"deep_under_the_key", kHead + "      secret:\n        a:\n          - {b: hunter2, c: yes}\n", 8, 29,
     kTrap},
    {"complex_key", kHead + "      ? token\n      : hunter2\n", 7, 9, kClear},
    {"complex_key_value_below", kHead + "      ? token\n      :\n        hunter2\n", 8, 9, kClear},
    {"list_as_key", kHead + "      ? [token]\n      : &a hunter2\n", 7, 9, kAnchor},
    {"map_as_key", kHead + "      ? {token: &a hunter2}\n      : &b hunter2\n", 7, 9, kAnchor},
    {"alias_as_key", kHead + "      x: &a token\n      *a : &b hunter2\n", 7, 12, kAnchor},
    {"block_literal", kHead + "      token: |\n        hunter2\n", 6, 14, kClear},
    {"block_folded", kHead + "      token: >-\n        a\n        hunter2\n", 6, 14, kClear},
    {"control_in_block", kHead + "      token: |\n        hunter2\x01\n", 7, 16,
     "a control character stands"},
    {"tab_in_block", kHead + "      token: |\n\thunter2\n", 7, 1, "a tab cannot indent; use spaces"},
    {"not_utf8_in_block", kHead + "      token: |\n        hunter2\xff\n", 7, 16, "this is not UTF-8"},
    {"control_in_plain", kHead + "      pin: hunter2\x7f\n", 6, 19, "a control character stands here"},
    {"two_colons_below", kHead + "      token:\n        hunter2: a: b\n", 7, 19, "this is not YAML"},
    {"unclosed_quote", kHead + "      token: \"hunter2\n", 6, 14, kClear},
    {"unclosed_list", kHead + "      token: [\n        hunter2\n", 8, 1, "this is not YAML"},
    {"bad_escape", kHead + "      token: \"a\n        \\hunter2\"\n", 7, 11, "this is not YAML"},
    {"unknown_alias", kHead + "      token: *hunter2\n", 6, 14, "this is not YAML"},
    {"unknown_alias_below", kHead + "      token:\n        *hunter2\n", 7, 9, "this is not YAML"},
    {"directive", "%YAML hunter2\n---\nstate: /s\n", 1, 1, "this is not YAML: bad YAML version"},
    {"anchored_value", kHead + "      token: &a\n        hunter2\n", 6, 14, kAnchor},
    {"anchored_list", kHead + "      token:\n        - &a hunter2\n", 7, 11, kAnchor},
    {"anchor_elsewhere", kHead + "      x: &a hunter2\n      token: *a\n", 6, 10, kAnchor},
    {"anchor_by_way_of_another", kHead + "      x: &a hunter2\n      y: &b [*a]\n      token: *b\n", 6, 10,
     kAnchor},
    {"merged", kHead + "      x: &a {pass: hunter2}\n      token: {<<: *a}\n", 6, 10, kAnchor},
    {"alias_in_a_list", kHead + "      x: &a hunter2\n      tokens: [*a]\n", 7, 16, kAlias},
    {"tagged_value", kHead + "      token: !!str\n        hunter2\n", 6, 14, "tags (!name) are not used"},
    {"duplicate_inside", kHead + "      secret:\n        hunter2: a\n        hunter2: b\n", 8, 9,
     "was given already in line 7"},
    {"duplicate_with_value", kHead + "      token: file:/a\n      token: hunter2\n", 7, 7,
     "the key `token` was given already"},
    {"number_under_the_key", kHead + "      token: 0987654321\n", 6, 14, kClear},
    {"number_below_the_key", kHead + "      token:\n        0987654321\n", 7, 9, kTrap},
    {"large_number", kHead + "      secret: {a: 98765432109876543210987654321}\n", 6, 19, "is too large"},
    {"escaped_key", kHead + "      \"tok\\u0065n\": hunter2\n", 6, 21, kClear},
    {"key_with_a_blank", kHead + "      \"api key\": hunter2\n", 6, 18, kClear},
    {"misspelt_key", "state: /s\ntokn: hunter2\n", 2, 1, "unknown key `tokn`"},
    {"misspelt_key_below", kHead + "      pasword: {a: hunter2, b: on}\n", 6, 32, kTrap},
    {"key_nobody_knows", "state: /s\npassword:\n  hunter2\n", 2, 1, "unknown key `password`"},
    {"secret_at_the_top", "- token: hunter2\n", 1, 1, "must be a map of keys and values, not a list"},
    {"text_that_names_one", "state: /s\nhost: \"token: hunter2\"\n", 2, 7, "host must be a map"},
    {"text_over_lines", "state: /s\nhost: {x: \"token:\n  hunter2\", capacity: no}\n", 3, 23,
     "capacity must be a whole number"},
    {"text_in_a_block", "state: /s\nhost: |\n  token:\n    hunter2\n", 2, 7, "host must be a map"},
    {"list_of_texts", "state: /s\npolicies: [\"api_key = hunter2\"]\n", 2, 12,
     "each of policies must be a map"},
    {"github_token", "state: " + kPat + "\n", 1, 8, kLooks},
    {"github_token_as_name", kHead + "      x: 1\nproviders:\n  - {name: " + kPat + ", plugin: p, y: 1}\n", 8,
     12, kLooks},
    {"github_token_below", kHead + "      x:\n        " + kPat + "\n", 7, 9, kLooks},
    {"github_token_as_key", "state: /s\n" + kPat + ": 1\n", 2, 1, "a key must not hold one"},
    {"jwt", kHead + "      x: [1, " + kJwt + "]\n", 6, 14, kLooks},
    {"pem_over_lines",
     kHead + "      x: {y: \"-----BEGIN PRIVATE KEY-----\n        hunter2\n        hunter2\", z: on}\n", 8,
     22, kTrap},
    {"pem_in_a_block", kHead + "      x: |\n        -----BEGIN PRIVATE KEY-----\n        hunter2\n", 6, 10,
     kLooks},
    {"second_document", kHead + "      token: file:/a\n--- {token: hunter2}\n", 7, 1, "a second document"},
    {"given_up_inside",
     kHead + "      token: [[[[[[[[[[[[[[[[[[[[[[[[[[[[\n        hunter2]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n", 6,
     34, "nested too deeply"},
};

// As `config check --json` writes it.
std::string as_json(const std::vector<Problem>& problems) {
  nlohmann::json all = nlohmann::json::array();
  for (const Problem& problem : problems) {
    all.push_back({{"file", problem.file},
                   {"line", problem.line},
                   {"column", problem.column},
                   {"message", problem.message},
                   {"text", problem.text}});
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Hidden : public ::testing::TestWithParam<Row> {};

TEST_P(Hidden, NeitherTextNorJsonHoldsTheSecret) {
  const Row& row = GetParam();
  const Loaded loaded = load_text(row.text, "f.yaml");
  EXPECT_FALSE(loaded.configuration);
  std::string all = as_json(loaded.problems) + "\n";
  for (const Problem& problem : loaded.problems)
    all += to_string(problem) + "\n";
  for (const std::string& needle : {kNeedle, kDigits, std::string("9876543210")})
    EXPECT_EQ(all.find(needle), std::string::npos) << all;
  const std::string place = "f.yaml:" + std::to_string(row.line) + ":" + std::to_string(row.column) + ": ";
  EXPECT_TRUE(std::any_of(loaded.problems.begin(), loaded.problems.end(),
                          [&](const Problem& problem) {
                            const std::string shown = to_string(problem);
                            return shown.starts_with(place) && shown.find(row.message) != std::string::npos;
                          }))
      << "nothing at " << place << row.message << "\n"
      << all;
}

INSTANTIATE_TEST_SUITE_P(Table, Hidden, ::testing::ValuesIn(kRows),
                         [](const auto& each) { return each.param.name; });

// What is no secret is still shown.
TEST(Shown, IsTheLineBehindTheEndOfASecret) {
  const auto loaded = load_text(kHead + "      token:\n        hunter2\n      mode: on\n", "f");
  ASSERT_EQ(loaded.problems.size(), 2U);
  EXPECT_EQ(loaded.problems[0].text, "");
  EXPECT_EQ(loaded.problems[1].text, "      mode: on");
  EXPECT_EQ(loaded.problems[1].caret, 13);
}

TEST(Shown, IsTheNextItemOfAList) {
  const auto loaded = load_text(kHead + "      all:\n        - token: hunter2\n        - mode: on\n", "f");
  ASSERT_EQ(loaded.problems.size(), 2U);
  EXPECT_EQ(loaded.problems[1].text, "        - mode: on");
}

TEST(Shown, IsALineWithAReference) {
  for (const std::string reference : {"file:/etc/token", "env:TOKEN", "credential:token", "true"}) {
    const auto loaded = load_text(kHead + "      x: {token: " + reference + ", mode: on}\n", "f");
    ASSERT_EQ(loaded.problems.size(), 1U);
    if (reference == "true") continue;  // hidden by its name alone
    EXPECT_EQ(loaded.problems[0].text, "      x: {token: " + reference + ", mode: on}");
    EXPECT_NE(loaded.problems[0].caret, 0);
  }
}

TEST(Shown, IsNoLineOfAValueThatSomebodyElseHides) {
  const auto loaded =
      load_text(kHead + "      x: {pat: \"a\n        hunter2\", size: 5}\n      mode: 5\n", "f");
  ASSERT_TRUE(loaded.configuration);
  const Instance& hub = loaded.configuration->gateways.front();
  const auto found = problems_of(loaded, "f",
                                 {{hub.value_places.at("/x/pat"), "no reference", true},
                                  {hub.value_places.at("/x/size"), "too small", false},
                                  {hub.value_places.at("/mode"), "too small", false}});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(to_string(found[0]), "f:6:16: no reference");
  EXPECT_EQ(to_string(found[1]), "f:7:25: too small");
  EXPECT_EQ(found[2].text, "      mode: 5");
  const auto key = problems_of(loaded, "f",
                               {{hub.key_places.at("/x/pat"), "is not known", true},
                                {hub.value_places.at("/x/size"), "too small", false}});
  EXPECT_EQ(key[0].text + key[1].text, "");
}

}  // namespace
}  // namespace agent::config
