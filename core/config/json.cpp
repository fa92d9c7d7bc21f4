#include "config/json.hpp"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "config/units.hpp"

namespace agent::config {
namespace {

using Json = nlohmann::json;  // sorts its keys

Json scalar(const Node& node, Problems& problems) {
  switch (written_as(node)) {
    case Written::boolean: return node.text == "true";
    case Written::integer:
      if (const auto value = parse_integer(node.text)) return *value;
      problems.add(node.mark, "the number " + shown(node) + " is too large; put it in quotes if it is text");
      return nullptr;
    case Written::real: {
      double value = 0;
      const char* end = node.text.data() + node.text.size();
      const auto parsed = std::from_chars(node.text.data(), end, value);
      if (parsed.ec == std::errc{} && parsed.ptr == end && std::isfinite(value)) return value;
      problems.add(node.mark,
                   "the number " + shown(node) + " cannot be kept; put it in quotes if it is text");
      return nullptr;
    }
    case Written::trap:
      problems.add(node.mark,
                   "YAML may read the unquoted " + shown(node) +
                       " as something else; write true or false, a plain number, or put it in quotes");
      return nullptr;
    case Written::text: break;
  }
  return node.text;
}

Json convert(const Node& node, Problems& problems) {
  switch (node.kind) {
    case Node::Kind::null:
      problems.add(node.mark, "there is no value here; write one or remove the key");
      return nullptr;
    case Node::Kind::scalar: return scalar(node, problems);
    case Node::Kind::sequence: {
      Json all = Json::array();
      for (const Node& item : node.items)
        all.push_back(convert(item, problems));
      return all;
    }
    case Node::Kind::map: break;
  }
  Json all = Json::object();
  for (const Entry& entry : node.entries)
    all[entry.key] = convert(entry.value, problems);
  return all;
}

Place place_of(Mark mark) { return {mark.line, mark.column}; }

std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key)
    out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

void note(const Node& node, const std::string& pointer, Instance& into) {
  into.value_places[pointer] = place_of(node.mark);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    note(node.items[i], pointer + "/" + std::to_string(i), into);
  for (const Entry& entry : node.entries) {
    const std::string inner = pointer + "/" + escaped(entry.key);
    into.key_places[inner] = place_of(entry.mark);
    note(entry.value, inner, into);
  }
}

}  // namespace

void note_places(const Node& node, Instance& into) { note(node, "", into); }

std::string to_json(const Node* node, Problems& problems) {
  if (node == nullptr) return "{}";
  return convert(*node, problems).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace agent::config
