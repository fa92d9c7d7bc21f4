#include "plugin/schema.hpp"

#include <regex.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "plugin/text.hpp"

namespace agent::plugin {
namespace {

using domain::Error;
using domain::ErrorCode;
using Json = nlohmann::json;

constexpr std::size_t most_text = 256 * 1024;
constexpr std::size_t most_problems = 100;
constexpr std::size_t most_pattern_text = 4096;
constexpr int most_depth = 32;

constexpr std::array keywords{"type",      "properties", "required",    "additionalProperties",
                              "enum",      "minimum",    "maximum",     "minLength",
                              "maxLength", "pattern",    "items",       "minItems",
                              "maxItems",  "default",    "description", "x-secret"};
constexpr std::array types{"object", "array", "string", "integer", "number", "boolean"};

struct BadSchema {
  std::string message;
};

std::string at(const std::string& pointer, const std::string& name) {
  std::string out = pointer + "/";
  for (const char c : name) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

// POSIX rather than std::regex: it needs no recursion, so no text can exhaust the stack.
class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : ok_(portable(text) && ::regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  ~Pattern() {
    if (ok_) ::regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool found_in(const std::string& text) const {
    return text.find('\0') == std::string::npos && ::regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  // What other dialects mean by these would silently be something else.
  static bool portable(const std::string& text) {
    if (text.find("(?") != std::string::npos || text.find('\0') != std::string::npos) return false;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      if (text[i] != '\\') continue;
      ++i;
      const char c = text[i];
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return false;
    }
    return true;
  }
  regex_t compiled_{};
  bool ok_;
};

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

int depth_of(const Json& value) {
  int deepest = 0;
  if (value.is_structured()) {
    for (const Json& inner : value)
      deepest = std::max(deepest, depth_of(inner));
  }
  return deepest + 1;
}

// Nothing for text that nests too deep or is no JSON. The depth is looked at while parsing, before a deep
// value is made.
std::optional<Json> parse(std::string_view text) {
  bool too_deep = false;
  const Json::parser_callback_t limit = [&](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > most_depth;
    return depth <= most_depth;
  };
  Json value = Json::parse(text, limit, false);
  if (too_deep || value.is_discarded() || depth_of(value) > most_depth) return std::nullopt;
  return value;
}

// --- the schema's own form, checked once and before any configuration

[[noreturn]] void bad(const std::string& pointer, const std::string& what) {
  throw BadSchema{"The plugin's configuration schema is wrong at \"" + pointer + "\": " + what};
}

void check_count(const Json& schema, const char* keyword, const std::string& pointer) {
  if (schema.contains(keyword) && !schema[keyword].is_number_unsigned())
    bad(at(pointer, keyword), "a count from 0 on is wanted.");
}

void check_schema(const Json& schema, const std::string& pointer) {
  if (!schema.is_object()) bad(pointer, "an object is wanted.");
  for (const auto& [keyword, value] : schema.items()) {
    if (std::find(keywords.begin(), keywords.end(), keyword) == keywords.end())
      bad(at(pointer, keyword), "the keyword is not in the supported subset.");
  }
  if (!schema.contains("type") || !schema["type"].is_string() ||
      std::find(types.begin(), types.end(), schema["type"].get_ref<const std::string&>()) == types.end())
    bad(pointer, "\"type\" must be one of object, array, string, integer, number and boolean.");
  for (const char* keyword : {"minLength", "maxLength", "minItems", "maxItems"})
    check_count(schema, keyword, pointer);
  for (const char* keyword : {"minimum", "maximum"}) {
    if (schema.contains(keyword) && !schema[keyword].is_number())
      bad(at(pointer, keyword), "a number is wanted.");
  }
  if (schema.contains("enum") && (!schema["enum"].is_array() || schema["enum"].empty()))
    bad(at(pointer, "enum"), "a list is wanted.");
  if (schema.contains("x-secret") && !schema["x-secret"].is_boolean())
    bad(at(pointer, "x-secret"), "true or false is wanted.");
  if (schema.contains("description") && !schema["description"].is_string())
    bad(at(pointer, "description"), "a text is wanted.");
  if (schema.contains("pattern")) {
    if (!schema["pattern"].is_string()) bad(at(pointer, "pattern"), "a text is wanted.");
    if (!Pattern(schema["pattern"].get<std::string>()).ok())
      bad(at(pointer, "pattern"), "a POSIX extended regular expression is wanted.");
  }
  if (schema.contains("properties")) {
    if (!schema["properties"].is_object()) bad(at(pointer, "properties"), "an object is wanted.");
    for (const auto& [name, inner] : schema["properties"].items())
      check_schema(inner, at(at(pointer, "properties"), name));
  }
  if (schema.contains("required")) {
    const Json& names = schema["required"];
    if (!names.is_array()) bad(at(pointer, "required"), "a list is wanted.");
    for (const Json& name : names) {
      if (!name.is_string() || !schema.contains("properties") ||
          !schema["properties"].contains(name.get_ref<const std::string&>()))
        bad(at(pointer, "required"), "names of properties are wanted.");
    }
  }
  if (schema.contains("additionalProperties") && !schema["additionalProperties"].is_boolean())
    check_schema(schema["additionalProperties"], at(pointer, "additionalProperties"));
  if (schema.contains("items")) check_schema(schema["items"], at(pointer, "items"));
}

// --- a configuration against it

class Checker {
 public:
  std::vector<SchemaProblem> problems() && { return std::move(problems_); }
  std::vector<SecretUse> secrets() && { return std::move(secrets_); }

  void check(const Json& schema, Json& value, const std::string& pointer) {
    const auto& type = schema["type"].get_ref<const std::string&>();
    const bool around = secret_;
    secret_ = secret_ || schema.value("x-secret", false);
    check_value(type, schema, value, pointer);
    secret_ = around;
  }

 private:
  void check_value(const std::string& type, const Json& schema, Json& value, const std::string& pointer) {
    if (!has_type(type, value)) {
      secret_ = secret_ || asks_for_secret(schema);
      problem(pointer, "must be of type " + type + ", but is of type " + value.type_name() + ".");
      return;
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      problem(pointer, "must be one of " + schema["enum"].dump() + ".");
    if (type == "object") check_object(schema, value, pointer);
    if (type == "array") check_array(schema, value, pointer);
    if (type == "string") check_string(schema, value.get_ref<const std::string&>(), pointer);
    if (type == "integer" || type == "number") check_number(schema, value, pointer);
  }
  static bool has_type(const std::string& type, const Json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return value.is_boolean();
  }

  void problem(const std::string& pointer, std::string message, bool about_key = false) {
    if (problems_.size() < most_problems)
      problems_.push_back({pointer, std::move(message), about_key, secret_});
  }

  void check_object(const Json& schema, Json& value, const std::string& pointer) {
    static const Json none = Json::object();
    const Json& properties = schema.contains("properties") ? schema["properties"] : none;
    if (schema.contains("required")) {
      for (const Json& name : schema["required"]) {
        const auto& text = name.get_ref<const std::string&>();
        if (!value.contains(text)) problem(at(pointer, text), "is required, but missing.");
      }
    }
    for (const auto& [name, inner] : properties.items()) {
      if (!value.contains(name) && inner.contains("default")) value[name] = inner["default"];
    }
    for (auto& [name, inner] : value.items()) {
      if (properties.contains(name)) {
        check(properties[name], inner, at(pointer, name));
      } else if (!schema.contains("additionalProperties") || schema["additionalProperties"] == false) {
        problem(at(pointer, name), unknown(properties), true);
      } else if (schema["additionalProperties"].is_object()) {
        check(schema["additionalProperties"], inner, at(pointer, name));
      }
    }
  }

  // Whether the schema wants a secret here or further inside.
  static bool asks_for_secret(const Json& schema) {
    if (schema.value("x-secret", false)) return true;
    for (const char* keyword : {"items", "additionalProperties"}) {
      if (schema.contains(keyword) && schema[keyword].is_object() && asks_for_secret(schema[keyword]))
        return true;
    }
    if (!schema.contains("properties")) return false;
    const Json& properties = schema["properties"];
    return std::any_of(properties.begin(), properties.end(), asks_for_secret);
  }

  static std::string unknown(const Json& properties) {
    if (properties.empty()) return "is not known; nothing can be configured here.";
    std::string message = "is not known; what can be configured here is ";
    bool first = true;
    for (const auto& [name, inner] : properties.items()) {
      message += (first ? "" : ", ") + name;
      first = false;
    }
    return message + ".";
  }

  void check_array(const Json& schema, Json& value, const std::string& pointer) {
    check_size(schema, value.size(), "minItems", "maxItems", "items", pointer);
    if (!schema.contains("items")) return;
    for (std::size_t i = 0; i < value.size(); ++i)
      check(schema["items"], value[i], pointer + "/" + std::to_string(i));
  }

  void check_size(const Json& schema, std::size_t size, const char* least, const char* most, const char* what,
                  const std::string& pointer) {
    if (schema.contains(least) && size < schema[least].get<std::uint64_t>())
      problem(pointer, "must have at least " + schema[least].dump() + " " + what + ".");
    if (schema.contains(most) && size > schema[most].get<std::uint64_t>())
      problem(pointer, "must have at most " + schema[most].dump() + " " + what + ".");
  }

  void check_string(const Json& schema, const std::string& value, const std::string& pointer) {
    check_size(schema, characters(value), "minLength", "maxLength", "characters", pointer);
    if (schema.value("x-secret", false) && is_reference(value)) {
      if (secrets_.size() < most_problems) secrets_.push_back({pointer, value});
    } else if (schema.value("x-secret", false))
      problem(pointer, "must be a reference to a secret: file:/ABSOLUTE/PATH, env:NAME or credential:NAME.");
    if (!schema.contains("pattern")) return;
    const auto& pattern = schema["pattern"].get_ref<const std::string&>();
    if (value.size() > most_pattern_text)
      problem(pointer, "is too long.");
    else if (!Pattern(pattern).found_in(value))
      problem(pointer, "must match " + pattern + ".");
  }

  static bool is_reference(const std::string& value) {
    for (const std::string_view kind : {"env:", "credential:"}) {
      if (value.starts_with(kind) && value.size() > kind.size()) return true;
    }
    return value.starts_with("file:/");
  }

  void check_number(const Json& schema, const Json& value, const std::string& pointer) {
    if (schema.contains("minimum") && value < schema["minimum"])
      problem(pointer, "must be at least " + schema["minimum"].dump() + ".");
    if (schema.contains("maximum") && value > schema["maximum"])
      problem(pointer, "must be at most " + schema["maximum"].dump() + ".");
  }

  std::vector<SchemaProblem> problems_;
  std::vector<SecretUse> secrets_;
  bool secret_ = false;  // what is checked now may hold a secret
};

}  // namespace

domain::Result<CheckedConfig> check_config(std::string_view schema_text, std::string_view config_text) {
  if (schema_text.size() > most_text || config_text.size() > most_text)
    return Error{
        ErrorCode::invalid, "The configuration of the component, or its schema, is larger than 256 KiB.", {}};
  const std::optional<Json> schema = parse(schema_text);
  if (!schema)
    return Error{ErrorCode::internal, "The plugin's configuration schema is not JSON of sane depth.", {}};
  std::optional<Json> config = parse(config_text.empty() ? "{}" : config_text);
  if (!config)
    return Error{ErrorCode::invalid, "The configuration of the component is not JSON of sane depth.", {}};
  try {
    check_schema(*schema, "");
    Checker checker;
    checker.check(*schema, *config, "");
    return CheckedConfig{config->dump(), std::move(checker).problems(), std::move(checker).secrets()};
  } catch (const BadSchema& broken) {
    return Error{ErrorCode::internal, broken.message + " Report it to the plugin's vendor.", {}};
  } catch (const std::exception& failure) {
    return Error{
        ErrorCode::internal, std::string("The configuration could not be checked: ") + failure.what(), {}};
  }
}

domain::Result<std::string> fit_config(const std::string& instance, const std::string& plugin,
                                       std::string_view schema, std::string_view config) {
  domain::Result<CheckedConfig> checked = check_config(schema, config);
  if (!checked) return checked.error();
  if (checked->problems.empty()) return std::move(checked->config);
  std::string message = "The configuration of " + instance + " does not fit the plugin " + plugin + ":";
  for (const SchemaProblem& one : checked->problems)
    message += " " + (one.pointer.empty() ? std::string("it") : one.pointer) + " " + one.message;
  return domain::Error{domain::ErrorCode::invalid, one_line(message, 8000), {}};
}

}  // namespace agent::plugin
