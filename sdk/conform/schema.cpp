#include "conform/schema.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "conform/pattern.hpp"

namespace rmgr::conform {
namespace {

using Kind = Json::Kind;

constexpr std::array<std::string_view, 6> types{"object", "array", "string", "integer", "number", "boolean"};

enum class Rule { type, count, number, list, flag, text, pattern, schemas, names, open, schema, any };
struct Keyword {
  std::string_view name;
  Rule rule;
};
constexpr std::array keywords{
    Keyword{"type", Rule::type},        Keyword{"properties", Rule::schemas},
    Keyword{"required", Rule::names},   Keyword{"additionalProperties", Rule::open},
    Keyword{"enum", Rule::list},        Keyword{"minimum", Rule::number},
    Keyword{"maximum", Rule::number},   Keyword{"minLength", Rule::count},
    Keyword{"maxLength", Rule::count},  Keyword{"pattern", Rule::pattern},
    Keyword{"items", Rule::schema},     Keyword{"minItems", Rule::count},
    Keyword{"maxItems", Rule::count},   Keyword{"default", Rule::any},
    Keyword{"description", Rule::text}, Keyword{"x-secret", Rule::flag},
};

bool is_number(const Json& value) { return value.is(Kind::integer) || value.is(Kind::number); }

// POSIX extended, without what other dialects would mean by a backslash and a letter.
bool matches(const std::string& pattern, const std::string* text) {
  if (pattern.find("(?") != std::string::npos) return false;
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] == '\\' && std::isalnum(static_cast<unsigned char>(pattern[++i])) != 0) return false;
  }
  const Pattern compiled(pattern);
  return text == nullptr ? compiled.ok() : compiled.found_in(*text);
}

std::string problem_of(const Json& schema, const std::string& where);

std::string names_problem(const Json& schema, const Json& value) {
  if (!value.is(Kind::array)) return "a list is wanted";
  for (const Json& name : value.items()) {
    if (!name.is(Kind::text) || schema.at("properties").find(name.as_text()) == nullptr)
      return "names of properties are wanted";
  }
  return {};
}

std::string keyword_problem(const Json& schema, const Keyword& keyword, const Json& value,
                            const std::string& where) {
  switch (keyword.rule) {
    case Rule::type: return {};
    case Rule::count: return value.is(Kind::integer) && value.as_integer() >= 0 ? "" : "a count is wanted";
    case Rule::number: return is_number(value) ? "" : "a number is wanted";
    case Rule::list: return value.is(Kind::array) && !value.items().empty() ? "" : "a list is wanted";
    case Rule::flag: return value.is(Kind::boolean) ? "" : "true or false is wanted";
    case Rule::text: return value.is(Kind::text) ? "" : "a text is wanted";
    case Rule::pattern:
      return value.is(Kind::text) && matches(value.as_text(), nullptr)
                 ? ""
                 : "a POSIX extended regular expression is wanted";
    case Rule::names: return names_problem(schema, value);
    case Rule::any: return {};
    case Rule::open: return value.is(Kind::boolean) ? "" : problem_of(value, where);
    case Rule::schema: return problem_of(value, where);
    case Rule::schemas: break;
  }
  if (!value.is(Kind::object)) return "an object is wanted";
  for (const Json::Member& member : value.members()) {
    std::string inner = problem_of(member.value, where + "/" + member.key);
    if (!inner.empty()) return inner;
  }
  return {};
}

std::string problem_of(const Json& schema, const std::string& where) {
  const auto at = [&](std::string_view key) { return "at \"" + where + "/" + std::string(key) + "\" "; };
  if (!schema.is(Kind::object)) return "at \"" + where + "\" an object is wanted";
  const std::string& type = schema.at("type").as_text();
  if (std::find(types.begin(), types.end(), type) == types.end())
    return at("type") + "one of object, array, string, integer, number and boolean is wanted";
  for (const Json::Member& member : schema.members()) {
    const auto known = std::find_if(keywords.begin(), keywords.end(),
                                    [&](const Keyword& one) { return one.name == member.key; });
    if (known == keywords.end()) return at(member.key) + "is a keyword outside the subset";
    std::string problem = keyword_problem(schema, *known, member.value, where + "/" + member.key);
    if (!problem.empty()) return problem.starts_with("at ") ? problem : at(member.key) + problem;
  }
  return {};
}

class Checker {
 public:
  void check(const Json& schema, Json& value, const std::string& where) {
    const std::string& type = schema.at("type").as_text();
    if (!has_type(type, value)) {
      problem(where, "must be of type " + type);
      return;
    }
    if (const Json* choices = schema.find("enum")) {
      const auto& items = choices->items();
      if (std::find(items.begin(), items.end(), value) == items.end())
        problem(where, "must be one of " + choices->dump());
    }
    if (type == "object") check_object(schema, value, where);
    if (type == "array") check_array(schema, value, where);
    if (type == "string") check_text(schema, value.as_text(), where);
    if (is_number(value)) check_number(schema, value.as_number(), where);
  }
  std::vector<std::string> problems;

 private:
  static bool has_type(const std::string& type, const Json& value) {
    if (type == "object") return value.is(Kind::object);
    if (type == "array") return value.is(Kind::array);
    if (type == "string") return value.is(Kind::text);
    if (type == "integer") return value.is(Kind::integer);
    if (type == "number") return is_number(value);
    return value.is(Kind::boolean);
  }
  void problem(const std::string& where, const std::string& what) {
    problems.push_back("\"" + where + "\" " + what);
  }

  void check_object(const Json& schema, Json& value, const std::string& where) {
    const Json& properties = schema.at("properties");
    for (const Json& name : schema.at("required").items()) {
      if (value.find(name.as_text()) == nullptr) problem(where + "/" + name.as_text(), "is required");
    }
    for (const Json::Member& property : properties.members()) {
      const Json* otherwise = property.value.find("default");
      if (otherwise != nullptr && value.find(property.key) == nullptr) value.set(property.key, *otherwise);
    }
    const Json& open = schema.at("additionalProperties");
    for (const Json::Member& member : std::vector<Json::Member>(value.members())) {
      const Json* inner = properties.find(member.key);
      if (inner == nullptr && open.is(Kind::object)) inner = &open;
      if (inner == nullptr) {
        if (!open.as_bool()) problem(where + "/" + member.key, "is not known");
        continue;
      }
      Json copy = member.value;
      check(*inner, copy, where + "/" + member.key);
      value.set(member.key, std::move(copy));
    }
  }

  void check_size(const Json& schema, std::size_t size, const char* least, const char* most,
                  const std::string& where) {
    const auto count = static_cast<std::int64_t>(size);
    if (schema.find(least) != nullptr && count < schema.at(least).as_integer())
      problem(where, "is too short");
    if (schema.find(most) != nullptr && count > schema.at(most).as_integer()) problem(where, "is too long");
  }

  void check_array(const Json& schema, const Json& value, const std::string& where) {
    check_size(schema, value.items().size(), "minItems", "maxItems", where);
    const Json* items = schema.find("items");
    if (items == nullptr) return;
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      Json copy = value.items()[i];
      check(*items, copy, where + "/" + std::to_string(i));
    }
  }

  void check_text(const Json& schema, const std::string& value, const std::string& where) {
    const auto characters = std::count_if(
        value.begin(), value.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    check_size(schema, static_cast<std::size_t>(characters), "minLength", "maxLength", where);
    const bool reference = value.starts_with("file:/") || (value.starts_with("env:") && value.size() > 4) ||
                           (value.starts_with("credential:") && value.size() > 11);
    if (schema.at("x-secret").as_bool() && !reference) problem(where, "must be a reference to a secret");
    const Json* pattern = schema.find("pattern");
    if (pattern != nullptr && !matches(pattern->as_text(), &value))
      problem(where, "must match " + pattern->as_text());
  }

  void check_number(const Json& schema, double value, const std::string& where) {
    if (schema.find("minimum") != nullptr && value < schema.at("minimum").as_number())
      problem(where, "is too small");
    if (schema.find("maximum") != nullptr && value > schema.at("maximum").as_number())
      problem(where, "is too large");
  }
};

}  // namespace

std::string schema_problem(const Json& schema) { return problem_of(schema, ""); }

std::vector<std::string> config_problems(const Json& schema, Json& config) {
  Checker checker;
  checker.check(schema, config, "");
  return std::move(checker.problems);
}

}  // namespace rmgr::conform
