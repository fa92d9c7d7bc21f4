#include "github/link.hpp"

#include <algorithm>

namespace plugins::github {
namespace {

constexpr std::size_t kMaxHeader = std::size_t{64} << 10;
constexpr std::size_t kMaxLinks = 64;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
      ++at_;
  }
  [[nodiscard]] bool end() const { return at_ == text_.size(); }
  bool take(char c) {
    if (end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // Up to `stop`, which is taken too.
  std::optional<std::string_view> until(char stop) {
    const auto found = text_.find(stop, at_);
    if (found == std::string_view::npos) return std::nullopt;
    const auto part = text_.substr(at_, found - at_);
    at_ = found + 1;
    return part;
  }
  std::string_view word() {
    const auto found = std::min(text_.find_first_of(" \t;,=\"<>", at_), text_.size());
    const auto part = text_.substr(at_, found - at_);
    at_ = found;
    return part;
  }
  // After the opening quote.
  std::optional<std::string> quoted() {
    std::string value;
    while (!end()) {
      char c = text_[at_++];
      if (c == '"') return value;
      if (c == '\\') {
        if (end()) return std::nullopt;
        c = text_[at_++];
      }
      value.push_back(c);
    }
    return std::nullopt;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return result;
}

void add_rels(std::string_view text, std::vector<std::string>& rels) {
  while (!text.empty()) {
    const auto space = std::min(text.find_first_of(" \t"), text.size());
    if (space != 0) rels.push_back(lower(text.substr(0, space)));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
}

// One `; name[=value]`, after its semicolon.
bool parse_parameter(Reader& reader, Link& link) {
  reader.skip_space();
  const auto name = lower(reader.word());
  if (name.empty()) return false;
  reader.skip_space();
  if (!reader.take('=')) return true;
  reader.skip_space();
  std::string value;
  if (reader.take('"')) {
    auto text = reader.quoted();
    if (!text) return false;
    value = std::move(*text);
  } else {
    value = reader.word();
  }
  // Only the first rel of a link counts.
  if (name == "rel" && link.rels.empty()) add_rels(value, link.rels);
  return true;
}

bool parse_one(Reader& reader, Link& link) {
  if (!reader.take('<')) return false;
  const auto url = reader.until('>');
  if (!url) return false;
  link.url = *url;
  for (reader.skip_space(); reader.take(';'); reader.skip_space()) {
    if (!parse_parameter(reader, link)) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Link>> parse_links(std::string_view header) {
  if (header.size() > kMaxHeader) return std::nullopt;
  std::vector<Link> links;
  Reader reader(header);
  for (reader.skip_space(); !reader.end(); reader.skip_space()) {
    if (reader.take(',')) continue;  // an empty element
    if (links.size() == kMaxLinks) return std::nullopt;
    Link link;
    if (!parse_one(reader, link)) return std::nullopt;
    if (!reader.end() && !reader.take(',')) return std::nullopt;
    links.push_back(std::move(link));
  }
  return links;
}

}  // namespace plugins::github
