#include "config/secrets.hpp"

#include <algorithm>
#include <array>

#include "observe/log.hpp"

namespace agent::config {
namespace {

constexpr std::array<std::string_view, 9> kSecretNames{
    "credential", "token", "password", "passwd", "passphrase", "secret", "privatekey", "apikey", "accesskey"};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// private_key, privateKey and private-key are one name; so are token and tokens.
bool is_secret_name(std::string_view key) {
  std::string name;
  for (const char c : key) {
    if (c == '_' || c == '-') continue;
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (name.ends_with('s')) name.pop_back();
  return std::any_of(kSecretNames.begin(), kSecretNames.end(),
                     [&](std::string_view secret) { return name.ends_with(secret); });
}

bool is_reference(std::string_view value) {
  const auto is_plain_name = [](std::string_view name) {
    return !name.empty() && name.size() <= 256 &&
           std::all_of(name.begin(), name.end(), [](char c) { return is_name_character(c) || c == '.'; });
  };
  if (value.starts_with("file:/")) return true;
  if (value.starts_with("env:")) return is_plain_name(value.substr(4));
  if (value.starts_with("credential:")) return is_plain_name(value.substr(11));
  return false;
}

void check(const Node& node, bool secret, std::string_view key, Problems& problems) {
  if (node.kind == Node::Kind::scalar && !is_reference(node.text)) {
    if (secret && written_as(node) != Written::boolean) {
      problems.add(node.mark, shown(key) +
                                  " must not hold the secret itself; write file:/absolute/path, env:NAME or "
                                  "credential:NAME");
    } else if (observe::holds_secret(node.text)) {
      problems.add(node.mark,
                   "this looks like a secret; keep it in a file and write file:/absolute/path, env:NAME or "
                   "credential:NAME where a plugin asks for it");
    }
  }
  for (const Node& item : node.items)
    check(item, secret, key, problems);
  for (const Entry& entry : node.entries) {
    if (observe::holds_secret(entry.key)) {
      problems.add(entry.mark, "this looks like a secret; a key must not hold one");
    }
    check(entry.value, is_secret_name(entry.key), entry.key, problems);
  }
}

}  // namespace

void check_secrets(const Node& root, Problems& problems) { check(root, false, {}, problems); }

std::string shown_line(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != ':' && line[i] != '=') continue;
    std::size_t end = i;
    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '"' || line[end - 1] == '\''))
      --end;
    std::size_t start = end;
    while (start > 0 && is_name_character(line[start - 1]))
      --start;
    if (!is_secret_name(line.substr(start, end - start))) continue;
    const std::size_t value = line.find_first_not_of(" \t\"'[{", i + 1);
    if (value == std::string_view::npos) continue;
    const std::string_view word = line.substr(value, line.find_first_of(" \t\"',]}#", value) - value);
    if (!is_reference(word)) return observe::scrub(line.substr(0, i + 1)) + " [redacted]";
  }
  return observe::scrub(line);
}

}  // namespace agent::config
