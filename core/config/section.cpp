#include "config/section.hpp"

#include <algorithm>
#include <utility>

#include "config/units.hpp"

namespace agent::config {
namespace {

constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kLongestPath = 1024;

const Entry* entry_of(const Node* node, std::string_view key) {
  if (node == nullptr) return nullptr;
  const auto found = std::find_if(node->entries.begin(), node->entries.end(),
                                  [&](const Entry& entry) { return entry.key == key; });
  return found == node->entries.end() ? nullptr : &*found;
}

constexpr std::int64_t kUnbounded = 1'000'000'000'000;

// Bounds that only keep arithmetic safe say nothing.
std::string bounds(std::int64_t least, std::int64_t most) {
  if (most >= kUnbounded) return least > -kUnbounded ? std::to_string(least) + " or more" : "";
  return std::to_string(least) + " to " + std::to_string(most);
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null: return "nothing";
    case Node::Kind::sequence: return "a list";
    case Node::Kind::map: return "a map";
    case Node::Kind::scalar: break;
  }
  switch (written_as(node)) {
    case Written::integer:
    case Written::real: return "the number " + shown(node);
    case Written::boolean: return "the boolean " + shown(node);
    case Written::trap: return "the unquoted " + shown(node);
    case Written::text: break;
  }
  return "the text " + shown(node);
}

TextOrProblem text_of(const Node& node) {
  if (node.kind != Node::Kind::scalar) return {{}, "must be text, not " + describe(node)};
  if (written_as(node) == Written::trap) {
    return {{},
            "must be text; YAML may read the unquoted " + shown(node) +
                " as something else, so put it in quotes"};
  }
  if (written_as(node) != Written::text) {
    return {{}, "must be text, not " + describe(node) + "; put it in quotes"};
  }
  if (node.text.empty()) return {{}, "must not be empty"};
  if (node.text.size() > kLongestText) return {{}, "is longer than 4096 bytes"};
  if (has_control(node.text)) return {{}, "must not hold line breaks or control characters"};
  return {node.text, {}};
}

TextOrProblem path_of(const Node& node) {
  TextOrProblem found = text_of(node);
  if (!found.text) return found;
  const std::string_view path = *found.text;
  if (!path.starts_with('/')) {
    return {{}, "must be an absolute path, not " + shown(node) + "; nothing is expanded in it"};
  }
  if (path.size() > kLongestPath) return {{}, "is longer than 1024 bytes"};
  std::string plain;
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = std::min(path.size(), path.find('/', start));
    const std::string_view part = path.substr(start, end - start);
    if (part == "." || part == "..") return {{}, "must not hold `.` or `..`: " + shown(node)};
    if (!part.empty()) plain += "/" + std::string(part);
    start = end + 1;
  }
  if (plain.empty()) return {{}, "must not be the top of the file system"};
  return {plain, {}};
}

Section::Section(const Node* node, std::string name, Problems& problems)
    : node_(node), name_(std::move(name)), problems_(problems) {}

void Section::fail(std::string_view key, Mark mark, std::string message) {
  failed_.emplace(key);
  problems_.add(mark, std::move(message));
}

void Section::note(std::string_view key, std::string kind, std::string otherwise, std::string range) const {
  problems_.asked(
      {name_, std::string(key), std::move(kind), std::move(otherwise), std::move(range), required_});
}

const Node* Section::find(std::string_view key) {
  known_.push_back(key);
  const Entry* entry = entry_of(node_, key);
  if (entry == nullptr) return nullptr;
  if (entry->value.kind == Node::Kind::null) {
    fail(key, entry->mark, std::string(key) + " has no value; write one or remove the key");
    return nullptr;
  }
  return &entry->value;
}

const Node* Section::find_required(std::string_view key) {
  const Node* found = find(key);
  if (!has(key)) fail(key, mark_of(key), std::string(key) + " is missing in " + name_);
  return found;
}

const Node* Section::scalar(std::string_view key, std::string_view wanted) {
  const Node* node = find(key);
  if (node == nullptr || node->kind == Node::Kind::scalar) return node;
  fail(key, node->mark, std::string(key) + " must be " + std::string(wanted) + ", not " + describe(*node));
  return nullptr;
}

void Section::text(std::string_view key, std::string& out) {
  note(key, "text", out);
  const Node* node = find(key);
  if (node == nullptr) return;
  TextOrProblem found = text_of(*node);
  if (found.text) {
    out = std::move(*found.text);
  } else {
    fail(key, node->mark, std::string(key) + " " + found.problem);
  }
}

void Section::required_text(std::string_view key, std::string& out) {
  required_ = true;
  text(key, out);
  required_ = false;
  if (!has(key)) fail(key, mark_of(key), std::string(key) + " is missing in " + name_);
}

void Section::path(std::string_view key, std::string& out) {
  note(key, "path", out);
  const Node* node = find(key);
  if (node == nullptr) return;
  TextOrProblem found = path_of(*node);
  if (found.text) {
    out = std::move(*found.text);
  } else {
    fail(key, node->mark, std::string(key) + " " + found.problem);
  }
}

void Section::required_path(std::string_view key, std::string& out) {
  required_ = true;
  path(key, out);
  required_ = false;
  if (!has(key)) fail(key, mark_of(key), std::string(key) + " is missing in " + name_);
}

void Section::integer(std::string_view key, std::int64_t& out, std::int64_t least, std::int64_t most) {
  note(key, "number", std::to_string(out), bounds(least, most));
  const Node* node = scalar(key, "a whole number");
  if (node == nullptr) return;
  const auto value = written_as(*node) == Written::integer ? parse_integer(node->text) : std::nullopt;
  if (!value && written_as(*node) != Written::integer) {
    fail(key, node->mark, std::string(key) + " must be a whole number, not " + describe(*node));
  } else if (!value || *value < least || *value > most) {
    fail(key, node->mark,
         std::string(key) + " must be between " + std::to_string(least) + " and " + std::to_string(most));
  } else {
    out = *value;
  }
}

void Section::boolean(std::string_view key, bool& out) {
  note(key, "boolean", out ? "true" : "false");
  const Node* node = scalar(key, "true or false");
  if (node == nullptr) return;
  if (written_as(*node) == Written::boolean) {
    out = node->text == "true";
  } else {
    fail(key, node->mark, std::string(key) + " must be true or false, not " + describe(*node));
  }
}

void Section::duration(std::string_view key, domain::Millis& out, domain::Millis least, domain::Millis most) {
  const bool bounded = most.count() < kUnbounded;
  note(key, "duration", format_duration(out),
       bounded ? format_duration(least) + " to " + format_duration(most) : "");
  const Node* node = scalar(key, "a duration");
  if (node == nullptr) return;
  const auto value = parse_duration(node->text);
  if (!value) {
    fail(key, node->mark,
         std::string(key) + " must be a duration with its unit, such as 500ms, 60s, 5m, 6h or 30d, not " +
             describe(*node));
  } else if (*value < least || *value > most) {
    fail(key, node->mark,
         std::string(key) + " must be between " + format_duration(least) + " and " + format_duration(most));
  } else {
    out = *value;
  }
}

void Section::size(std::string_view key, std::int64_t& out) {
  note(key, "size", std::to_string(out));
  const Node* node = scalar(key, "a size");
  if (node == nullptr) return;
  if (const auto value = parse_size(node->text)) {
    out = *value;
  } else {
    fail(key, node->mark,
         std::string(key) + " must be a size with its unit, such as 512MiB or 4GiB, not " + describe(*node));
  }
}

void Section::cpu(std::string_view key, std::int64_t& out) {
  note(key, "cores", std::to_string(out));
  const Node* node = scalar(key, "a number of cores");
  if (node == nullptr) return;
  const auto value = node->quoted ? std::nullopt : parse_cpu_milli(node->text);
  if (value) {
    out = *value;
  } else {
    fail(key, node->mark,
         std::string(key) +
             " must be a number of cores such as 2 or 0.5, with at most three digits behind the point, "
             "not " +
             describe(*node));
  }
}

std::optional<std::string> Section::word(std::string_view key, std::span<const std::string_view> words,
                                         std::string_view otherwise) {
  std::string list;
  for (const std::string_view each : words) {
    if (!list.empty()) list += each == words.back() ? " or " : ", ";
    list += each;
  }
  note(key, "word", std::string(otherwise), list);
  const Node* node = scalar(key, "a word");
  if (node == nullptr) return std::nullopt;
  if (std::find(words.begin(), words.end(), node->text) != words.end()) return node->text;
  fail(key, node->mark,
       std::string(key) + " must be " + list + ", not " + shown(*node) + "." +
           suggestion(node->text, {words.begin(), words.end()}));
  return std::nullopt;
}

const Node* Section::map(std::string_view key) {
  note(key, "map", "");
  const Node* node = find(key);
  if (node == nullptr || node->kind == Node::Kind::map) return node;
  fail(key, node->mark, std::string(key) + " must be a map of keys and values, not " + describe(*node));
  return nullptr;
}

const Node* Section::list(std::string_view key) {
  note(key, "list", "");
  const Node* node = find(key);
  if (node == nullptr || node->kind == Node::Kind::sequence) return node;
  fail(key, node->mark, std::string(key) + " must be a list, not " + describe(*node));
  return nullptr;
}

std::vector<std::string> Section::texts(std::string_view key) {
  std::vector<std::string> all;
  const Node* node = list(key);
  if (node == nullptr) return all;
  for (const Node& item : node->items) {
    TextOrProblem found = text_of(item);
    if (found.text) {
      all.push_back(std::move(*found.text));
    } else {
      fail(key, item.kind == Node::Kind::null ? node->mark : item.mark,
           "each of " + std::string(key) + " " + found.problem);
    }
  }
  return all;
}

void Section::finish() {
  if (node_ == nullptr) return;
  for (const Entry& entry : node_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    problems_.add(entry.mark,
                  "unknown key " + shown_key(entry) + " in " + name_ + "." + suggestion(entry.key, known_));
  }
}

bool Section::has(std::string_view key) const { return entry_of(node_, key) != nullptr; }

Mark Section::mark_of(std::string_view key) const {
  const Entry* entry = entry_of(node_, key);
  if (entry != nullptr) return entry->value.kind == Node::Kind::scalar ? entry->value.mark : entry->mark;
  return node_ == nullptr ? Mark{} : node_->mark;
}

}  // namespace agent::config
