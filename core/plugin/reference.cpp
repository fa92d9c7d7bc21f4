#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugin/checker.hpp"
#include "plugin/config_check.hpp"
#include "plugin/manifest.hpp"

namespace agent::plugin {
namespace {

using Json = nlohmann::json;

void add_range(std::string& range, const Json& schema, const char* least, const char* most,
               const char* unit) {
  if (!schema.contains(least) && !schema.contains(most)) return;
  if (!range.empty()) range += "; ";
  if (schema.contains(least) && schema.contains(most)) {
    range += schema[least].dump() + " to " + schema[most].dump();
  } else {
    range += schema.contains(least) ? "at least " + schema[least].dump() : "at most " + schema[most].dump();
  }
  range += unit;
}

std::string range_of(const Json& schema) {
  std::string range;
  for (const Json& word : schema.value("enum", Json::array()))
    range += (range.empty() ? "" : ", ") + (word.is_string() ? word.get<std::string>() : word.dump());
  add_range(range, schema, "minimum", "maximum", "");
  add_range(range, schema, "minLength", "maxLength", " characters");
  add_range(range, schema, "minItems", "maxItems", " entries");
  if (schema.contains("pattern")) range += (range.empty() ? "" : "; ") + schema["pattern"].get<std::string>();
  return range;
}

void add_keys(const Json& schema, const std::string& prefix, std::vector<SchemaKey>& keys) {
  const Json required = schema.value("required", Json::array());
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, inner] : properties.items()) {
    SchemaKey key;
    key.path = prefix + name;
    key.kind = inner["type"].get<std::string>();
    if (key.kind == "array" && inner.contains("items"))
      key.kind += " of " + inner["items"]["type"].get<std::string>();
    if (inner.contains("default")) key.otherwise = inner["default"].dump();
    key.range = range_of(inner);
    key.description = inner.value("description", "");
    key.required = std::find(required.begin(), required.end(), Json(name)) != required.end();
    key.secret = inner.value("x-secret", false);
    keys.push_back(key);
    add_keys(inner, key.path + ".", keys);
    if (inner.contains("items")) add_keys(inner["items"], key.path + "[].", keys);
  }
}

}  // namespace

domain::Result<std::vector<ComponentReference>> component_references(
    const HostOptions& options, const std::vector<std::string>& plugins) {
  std::vector<ComponentReference> all;
  for (const Discovered& found : discover_plugins(options.directories, options.trust_any_owner)) {
    const bool wanted =
        plugins.empty() || std::find(plugins.begin(), plugins.end(), found.manifest.id) != plugins.end();
    if (!wanted) continue;
    if (found.refusal) return domain::Error{domain::ErrorCode::invalid, *found.refusal, {}};
    const auto said =
        schemas_in_child(options.checker, found.path, found.manifest.id, options.checker_patience);
    if (!said) return said.error();
    const Json schemas = Json::parse(*said, nullptr, false);
    if (!schemas.is_object())
      return domain::Error{domain::ErrorCode::bad_response, "The schemas of a plugin cannot be read.", {}};
    Json before;
    for (const auto& [interface, schema] : schemas.items()) {
      if (schema != before) all.push_back({found.manifest.id, {}, {}});
      all.back().interfaces.push_back(interface);
      if (schema != before) add_keys(schema, "", all.back().keys);
      before = schema;
    }
  }
  return all;
}

}  // namespace agent::plugin
