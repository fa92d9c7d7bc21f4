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

// private_key, privateKey, private-key and "private key" are one name; so are token and tokens.
std::string plain_name(std::string_view key) {
  std::string name;
  for (const char c : key) {
    if (!is_name_character(c) || c == '_' || c == '-') continue;
    name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (name.ends_with('s')) name.pop_back();
  return name;
}

bool is_secret_name(std::string_view key) {
  const std::string name = plain_name(key);
  return std::any_of(kSecretNames.begin(), kSecretNames.end(),
                     [&](std::string_view secret) { return name.ends_with(secret); });
}

// One letter is missing, too many or another, or two are swapped.
bool is_slip(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  const bool swapped = a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
  return swapped || (a.size() <= 1 && b.size() <= 1);
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

// `key` is as messages may show it.
void check(const Node& node, bool secret, const std::string& key, Problems& problems) {
  if (node.kind == Node::Kind::scalar && !is_reference(node.text)) {
    if (secret && written_as(node) != Written::boolean) {
      problems.add(node.mark, key +
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
    check(entry.value, is_secret_name(entry.key), shown_key(entry), problems);
  }
}

// A telling key in a text: what stands up to its colon, or npos.
std::size_t end_of_telling_key(std::string_view line) {
  std::size_t word_end = 0;  // of the last word that was looked at
  const auto word_at = [&](std::size_t at) {
    if (at >= word_end) word_end = std::min(line.size(), line.find_first_of(" \t\"',]}#\r\n", at));
    return line.substr(at, word_end - at);
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != ':' && line[i] != '=') continue;
    std::size_t end = i;
    while (end > 0 && std::string_view(" \t\"'").find(line[end - 1]) != std::string_view::npos)
      --end;
    std::size_t start = end;
    while (start > 0 && is_name_character(line[start - 1]))
      --start;
    if (!is_secret_name(line.substr(start, end - start))) continue;
    // The word "credential" of a reference is no key.
    if (end == i && is_reference(word_at(start))) continue;
    const std::size_t value = line.find_first_not_of(" \t\"'[{", i + 1);
    if (value == std::string_view::npos) continue;
    if (!is_reference(word_at(value))) return i + 1;
  }
  return std::string_view::npos;
}

}  // namespace

void check_secrets(const Node& root, Problems& problems) { check(root, false, {}, problems); }

bool is_telling(std::string_view key) {
  if (is_secret_name(key)) return true;
  const std::string whole = plain_name(key);
  const std::string last = plain_name(key.substr(key.find_last_of("_-. ") + 1));
  return std::any_of(kSecretNames.begin(), kSecretNames.end(), [&](std::string_view secret) {
    return is_slip(whole, secret) || is_slip(last, secret);
  });
}

bool is_harmless(const Node& value) {
  if (value.kind != Node::Kind::scalar) return false;
  if (written_as(value) == Written::boolean) return true;
  return is_reference(value.text) && std::none_of(value.text.begin(), value.text.end(), [](char c) {
           return static_cast<unsigned char>(c) <= ' ';
         });
}

bool may_hold_secret(std::string_view text) {
  return observe::holds_secret(text) || end_of_telling_key(text) != std::string_view::npos;
}

std::string shown_line(std::string_view line) {
  const std::size_t end = end_of_telling_key(line);
  if (end == std::string_view::npos) return observe::scrub(line);
  return observe::scrub(line.substr(0, end)) + " [redacted]";
}

}  // namespace agent::config
