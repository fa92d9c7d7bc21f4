#include "plugin/schema.hpp"

#include <gtest/gtest.h>

namespace {

using agent::plugin::check_config;

// The problems as "pointer: message" lines.
std::vector<std::string> problems(std::string_view schema, std::string_view config) {
  auto checked = check_config(schema, config);
  if (!checked) return {"error: " + checked.error().message};
  std::vector<std::string> lines;
  for (const auto& one : checked->problems)
    lines.push_back(one.pointer + ": " + one.message);
  return lines;
}

bool accepts(std::string_view schema, std::string_view config) { return problems(schema, config).empty(); }

TEST(Schema, EachRuleAcceptsAndRefuses) {
  struct Case {
    const char* schema;
    const char* good;
    const char* bad;
  };
  const Case cases[] = {
      {R"({"type":"object"})", "{}", "[]"},
      {R"({"type":"array"})", "[]", "{}"},
      {R"({"type":"string"})", R"("x")", "1"},
      {R"({"type":"integer"})", "1", "1.5"},
      {R"({"type":"number"})", "1.5", R"("1")"},
      {R"({"type":"boolean"})", "true", "0"},
      {R"({"type":"object","properties":{"a":{"type":"integer"}}})", R"({"a":1})", R"({"b":1})"},
      {R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})", R"({"a":1})", "{}"},
      {R"({"type":"object","additionalProperties":{"type":"string"}})", R"({"x":"y"})", R"({"x":1})"},
      {R"({"type":"string","enum":["a","b"]})", R"("b")", R"("c")"},
      {R"({"type":"integer","minimum":1})", "1", "0"},
      {R"({"type":"integer","maximum":9})", "9", "10"},
      {R"({"type":"number","minimum":0.5})", "0.5", "0.4"},
      {R"({"type":"string","minLength":2})", R"("äö")", R"("ä")"},
      {R"({"type":"string","maxLength":2})", R"("äö")", R"("abc")"},
      {R"({"type":"string","pattern":"^[a-z]+$"})", R"("abc")", R"("aBc")"},
      {R"({"type":"array","items":{"type":"integer"}})", "[1,2]", R"([1,"2"])"},
      {R"({"type":"array","minItems":1})", "[1]", "[]"},
      {R"({"type":"array","maxItems":1})", "[1]", "[1,2]"},
      {R"({"type":"string","x-secret":true})", R"("file:/etc/token")", R"("file:token")"},
      {R"({"type":"string","x-secret":true})", R"("env:TOKEN")", R"("env:")"},
      {R"({"type":"string","x-secret":true})", R"("credential:token")", R"("ghp_0123456789")"},
  };
  for (const Case& one : cases) {
    EXPECT_TRUE(accepts(one.schema, one.good)) << one.schema << " " << one.good;
    EXPECT_EQ(problems(one.schema, one.bad).size(), 1U) << one.schema << " " << one.bad;
  }
  EXPECT_TRUE(accepts(R"({"type":"object","additionalProperties":true})", R"({"x":[1]})"));
}

TEST(Schema, AllProblemsComeAtOnceAndSayWhere) {
  const auto found = problems(R"({"type":"object","required":["name"],"properties":{
      "name":{"type":"string"},
      "list":{"type":"array","items":{"type":"object","properties":{"a/b":{"type":"integer","minimum":3}}}},
      "mode":{"type":"string","enum":["x","y"]}}})",
                              R"({"list":[{"a/b":4},{"a/b":1},{"c~d":1}],"mode":"z","odd":1})");
  const std::vector<std::string> wanted{
      "/name: is required, but missing.",
      "/list/1/a~1b: must be at least 3.",
      "/list/2/c~0d: is not known; what can be configured here is a/b.",
      "/mode: must be one of [\"x\",\"y\"].",
      "/odd: is not known; what can be configured here is list, mode, name.",
  };
  EXPECT_EQ(found, wanted);
}

TEST(Schema, AValueIsNeverRepeated) {
  for (const auto& line : problems(R"({"type":"object","properties":{
      "token":{"type":"string","x-secret":true,"maxLength":3,"pattern":"^f","enum":["file:/a"]},
      "other":{"type":"integer"}}})",
                                   R"({"token":"needle-0815","other":"needle-0815"})"))
    EXPECT_EQ(line.find("needle"), std::string::npos) << line;
}

TEST(Schema, ProblemsSayWhatTheyAreAboutAndSecretsAreListed) {
  const auto checked = check_config(
      R"({"type":"object","properties":{"s":{"type":"string","x-secret":true},"n":{"type":"integer"},
          "l":{"type":"array","items":{"type":"string","x-secret":true}}}})",
      R"({"s":"needle","n":"x","other":1,"l":["file:/a","needle","env:B"]})");
  ASSERT_TRUE(checked);
  std::string told;
  for (const auto& one : checked->problems)
    told += one.pointer + (one.about_key ? " key" : "") + (one.secret ? " secret" : "") + ";";
  EXPECT_EQ(told, "/l/1 secret;/n;/other key;/s secret;");
  ASSERT_EQ(checked->secrets.size(), 2U);
  EXPECT_EQ(checked->secrets[0].pointer, "/l/0");
  EXPECT_EQ(checked->secrets[1].reference, "env:B");
}

TEST(Schema, WhatStandsWhereASecretLiesFurtherInsideMayBeOne) {
  const auto checked = check_config(
      R"({"type":"object","properties":{
          "app":{"type":"object","properties":{"key":{"type":"string","x-secret":true}}},
          "keys":{"type":"array","items":{"type":"string","x-secret":true}},
          "named":{"type":"object","additionalProperties":{"type":"string","x-secret":true}},
          "plain":{"type":"object","properties":{"n":{"type":"integer"}}}}})",
      R"({"app":"needle","keys":"needle","named":["needle"],"plain":"x"})");
  ASSERT_TRUE(checked);
  std::string told;
  for (const auto& one : checked->problems)
    told += one.pointer + (one.secret ? " secret" : "") + ";";
  EXPECT_EQ(told, "/app secret;/keys secret;/named secret;/plain;");
}

TEST(Schema, DefaultsAreFilledIn) {
  const auto checked = check_config(R"({"type":"object","properties":{
      "level":{"type":"integer","default":3},"inner":{"type":"object","default":{},"properties":{
      "deep":{"type":"boolean","default":true}}},"given":{"type":"string","default":"a"}}})",
                                    R"({"given":"b"})");
  ASSERT_TRUE(checked);
  EXPECT_TRUE(checked->problems.empty());
  EXPECT_EQ(checked->config, R"({"given":"b","inner":{"deep":true},"level":3})");
  EXPECT_TRUE(accepts(R"({"type":"object"})", ""));
}

TEST(Schema, AWrongSchemaIsRefused) {
  for (const char* schema : {
           "",
           "[]",
           "{}",
           R"({"type":"null"})",
           R"({"type":["string"]})",
           R"({"type":"object","oneOf":[]})",
           R"({"type":"object","properties":{"a":{"type":"object","$ref":"x"}}})",
           R"({"type":"object","required":["a"]})",
           R"x({"type":"string","pattern":"("})x",
           R"x({"type":"string","pattern":"\\d"})x",
           R"x({"type":"string","pattern":"(?:a)"})x",
           R"({"type":"string","minLength":-1})",
           R"({"type":"string","enum":[]})",
       })
    EXPECT_FALSE(check_config(schema, "{}")) << schema;
}

TEST(Schema, SizeDepthAndCountAreBounded) {
  const std::string deep(40, '[');
  EXPECT_FALSE(check_config(R"({"type":"array"})", deep + std::string(40, ']')));
  EXPECT_FALSE(check_config(R"({"type":"array"})", std::string(200'000, '[')));
  EXPECT_FALSE(check_config(R"({"type":"string"})", "\"" + std::string(300'000, 'x') + "\""));
  EXPECT_FALSE(accepts(R"({"type":"string","pattern":"^(a+)+$"})", "\"" + std::string(5'000, 'a') + "\""));
  std::string many = "[";
  for (int i = 0; i < 500; ++i)
    many += "1,";
  EXPECT_EQ(problems(R"({"type":"array","items":{"type":"string"}})", many + "1]").size(), 100U);
}

}  // namespace
