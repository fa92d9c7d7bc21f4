#include <algorithm>
#include <array>
#include <optional>

#include "observe/log.hpp"
#include "observe/text.hpp"

namespace agent::observe {
namespace {

constexpr std::string_view kRedacted = "[redacted]";
constexpr std::array<std::string_view, 6> kTokenPrefixes{"github_pat_", "ghp_", "gho_",
                                                         "ghu_",        "ghs_", "ghr_"};
constexpr std::size_t kTokenLength = 36;  // behind the prefix; a shorter one was wrapped or cut
constexpr std::array<std::string_view, 10> kSecretNames{"token",       "password",    "passwd",  "secret",
                                                        "private_key", "private-key", "api_key", "access_key",
                                                        "jitconfig",   "jit_config"};
constexpr std::string_view kSimpleEscapes = "nrtbf\"'\\/";
constexpr std::string_view kPemBegin = "-----BEGIN";
constexpr std::array<std::string_view, 3> kReferences{"file:", "env:", "credential:"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_'; }
bool is_hex(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); }
bool is_quote(char c) { return c == '"' || c == '\''; }

bool ends_with_folded(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  text.remove_prefix(text.size() - word.size());
  return std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) { return lower(a) == b; });
}

// Where in `run` a token or a base64 JSON object (a JWT, a JIT configuration) begins; npos if nowhere.
struct TokenStart {
  std::size_t at = std::string_view::npos;
  bool json = false;
};
TokenStart find_token(std::string_view run) {
  for (std::size_t i = 0; i < run.size(); ++i) {
    const std::string_view rest = run.substr(i);
    if (rest.starts_with("eyJ") && rest.size() >= 11) return {i, true};
    if (rest[0] != 'g') continue;
    for (const std::string_view prefix : kTokenPrefixes) {
      if (!rest.starts_with(prefix)) continue;
      const std::string_view value = rest.substr(prefix.size(), 4);
      if (value.size() == 4 && std::all_of(value.begin(), value.end(), is_word)) return {i, false};
    }
  }
  return {};
}

// What follows "Basic" or "token" in prose is a word; a credential has digits, capitals inside or padding.
bool looks_like_credential(std::string_view value) {
  if (value.size() < 4) return false;
  if (value.size() >= 20) return true;
  return std::any_of(value.begin() + 1, value.end(),
                     [](char c) { return is_digit(c) || is_upper(c) || c == '='; });
}

// One pass from left to right over text whose control characters are escaped already. Each rule looks ahead
// only over what it consumes, so the whole is linear; each ends where a second pass would end too, so a
// second pass changes nothing.
class Scrubber {
 public:
  explicit Scrubber(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  std::string run() {
    while (pos_ < text_.size())
      step();
    return std::move(out_);
  }
  // A rule fired that leaves no doubt: not merely a long run or a query.
  [[nodiscard]] bool certain() const { return certain_; }

 private:
  void step() {
    const char c = text_[pos_];
    if (at(pos_, kRedacted)) {
      copy(kRedacted.size());
    } else if (at(pos_, kPemBegin)) {
      pem();
    } else if (c == '\\') {
      copy(escape_length(pos_));
    } else if (at(pos_, "://")) {
      copy(3);
      authority();
    } else if (at(pos_, ":\\/\\/")) {
      copy(5);
      authority();
    } else if (pos_ < url_end_ && (c == '?' || c == '#')) {
      copy(1);
      query();
    } else if (is_run_character(c)) {
      word();
    } else {
      copy(1);
    }
  }

  [[nodiscard]] bool at(std::size_t i, std::string_view what) const {
    return text_.substr(std::min(i, text_.size())).starts_with(what);
  }
  void copy(std::size_t count) {
    out_ += text_.substr(pos_, count);
    pos_ = std::min(text_.size(), pos_ + count);
  }
  void redact_to(std::size_t end) {
    if (end == pos_) return;
    if (!out_.ends_with(kRedacted)) out_ += kRedacted;
    pos_ = end;
  }

  // \n, \", \\ …: two characters; \x1b: four; \u202e: six. A backslash before anything else is just itself,
  // so that it hides no beginning of a token.
  [[nodiscard]] std::size_t escape_length(std::size_t i) const {
    if (i + 1 >= text_.size()) return 1;
    const char kind = text_[i + 1];
    if (kind != 'x' && kind != 'u') return kSimpleEscapes.find(kind) == std::string_view::npos ? 1 : 2;
    const std::string_view digits = text_.substr(i + 2, kind == 'x' ? 2 : 4);
    const bool complete =
        digits.size() == (kind == 'x' ? 2U : 4U) && std::all_of(digits.begin(), digits.end(), is_hex);
    return complete ? 2 + digits.size() : 1;
  }
  [[nodiscard]] bool line_ends(std::size_t i) const {
    return i >= text_.size() || at(i, "\\n") || at(i, "\\r") || at(i, "\\\"") || is_quote(text_[i]);
  }

  void pem() {
    const std::size_t end = text_.find("-----END", pos_);
    const std::size_t close = end == std::string_view::npos ? end : text_.find("-----", end + 8);
    certain_ = true;
    redact_to(close == std::string_view::npos ? text_.size() : close + 5);
  }

  void word() {
    std::size_t end = pos_;
    while (end < text_.size() && is_run_character(text_[end]) && !(end > pos_ && at(end, kPemBegin)))
      ++end;
    const std::string_view run = text_.substr(pos_, end - pos_);
    if (assignment(run)) return;
    const TokenStart token = find_token(run);
    if (is_opaque_run(run)) {
      certain_ = certain_ || token.at != std::string_view::npos;
      redact_to(wrapped(end));
      return;
    }
    if (token.at != std::string_view::npos) {
      plain_part(token.at);
      redact_token(run.substr(token.at), token.json);
      return;
    }
    copy(run.size());
    named_value(run);
  }

  // The part before a token was judged as a piece of the whole run; it must also stand on its own.
  void plain_part(std::size_t count) {
    if (is_opaque_run(text_.substr(pos_, count))) {
      redact_to(pos_ + count);
    } else {
      copy(count);
    }
  }

  void redact_token(std::string_view rest, bool json) {
    std::size_t length = rest.size();
    if (!json) {
      const auto stop = std::find_if_not(rest.begin(), rest.end(), is_word);
      length = static_cast<std::size_t>(stop - rest.begin());
    }
    const bool whole = !json && length > kTokenLength;
    certain_ = true;
    redact_to(whole ? pos_ + length : wrapped(pos_ + length));
  }

  // Where a value that was broken over lines ends: further lines that hold nothing but such characters.
  [[nodiscard]] std::size_t wrapped(std::size_t end) const {
    for (;;) {
      std::size_t next = end;
      while (at(next, "\\n") || at(next, "\\r"))
        next += 2;
      if (next == end) return end;
      while (next < text_.size() && text_[next] == ' ')
        ++next;
      const std::size_t start = next;
      while (next < text_.size() && is_run_character(text_[next]))
        ++next;
      if (next == start || at(start, kPemBegin) || !line_ends(next)) return end;
      end = next;
    }
  }

  // key=value with a telling key.
  bool assignment(std::string_view run) {
    for (std::size_t k = run.find('='); k != std::string_view::npos; k = run.find('=', k + 1)) {
      const std::string_view name = run.substr(0, k);
      const bool header = ends_with_folded(name, "authorization");
      if (!header && !is_secret_name(name)) continue;
      if (find_token(name).at != std::string_view::npos || is_opaque_run(name)) return false;
      if (redact_value(pos_ + k + 1, header)) return true;
    }
    return false;
  }
  [[nodiscard]] static bool is_secret_name(std::string_view name) {
    return std::any_of(kSecretNames.begin(), kSecretNames.end(),
                       [&](std::string_view secret) { return ends_with_folded(name, secret); });
  }

  // "key": "value", Authorization: value, Bearer value.
  void named_value(std::string_view run) {
    const bool header = ends_with_folded(run, "authorization");
    if (header || is_secret_name(run)) {
      const std::size_t name_end = skip_quote(pos_).value_or(pos_);
      const std::size_t colon = skip_spaces(name_end);
      if ((header || name_end != pos_) && at(colon, ":") && !at(colon, "://")) {
        const std::size_t start = skip_spaces(colon + 1);
        if ((header || skip_quote(start)) && redact_value(start, header)) return;
      }
    }
    scheme(run);
  }

  void scheme(std::string_view run) {
    const bool always = ends_with_folded(run, "bearer") || ends_with_folded(run, "remoteauth");
    if (!always && !ends_with_folded(run, "basic") && !ends_with_folded(run, "token")) return;
    const std::size_t start = skip_spaces(pos_);
    if (start == pos_ || at(start, kRedacted)) return;
    if (at(start, kPemBegin)) return;
    std::size_t end = start;
    while (end < text_.size() && (is_run_character(text_[end]) || (always && !ends_value(text_[end]))))
      ++end;
    const std::string_view found = text_.substr(start, end - start);
    if (found.empty() || (!always && !looks_like_credential(found))) return;
    copy(start - pos_);
    certain_ = true;
    redact_to(wrapped(end));
  }

  // Copies up to the value that begins at `i`, quoted or not, and redacts it. False and nothing done: there
  // is none, it is a reference to a secret, or a PEM block, which has its own rule.
  bool redact_value(std::size_t i, bool to_line_end) {
    const std::optional<std::size_t> opened = skip_quote(i);
    const std::size_t start = opened.value_or(i);
    if (!opened && at(start, kPemBegin)) return false;
    for (const std::string_view reference : kReferences) {
      if (at(start, reference)) return false;
    }
    std::size_t end = start;
    if (opened) {
      end = closing_quote(start, text_[start - 1], start - i - 1);
    } else if (to_line_end) {
      while (!line_ends(end))
        ++end;
    } else {
      while (end < text_.size() && !ends_value(text_[end]))
        ++end;
    }
    if (end == start) return false;
    copy(start - pos_);
    hide(end);
    certain_ = certain_ || to_line_end;
    return true;
  }

  [[nodiscard]] std::size_t skip_spaces(std::size_t i) const {
    while (i < text_.size() && (text_[i] == ' ' || at(i, "\\t")))
      i += text_[i] == ' ' ? 1 : 2;
    return i;
  }
  // Behind a quote with any number of backslashes before it; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> skip_quote(std::size_t i) const {
    while (i < text_.size() && text_[i] == '\\')
      ++i;
    if (i < text_.size() && is_quote(text_[i])) return i + 1;
    return std::nullopt;
  }
  // The quote that closes one that had `slashes` before it; those inside the value have more.
  [[nodiscard]] std::size_t closing_quote(std::size_t i, char quote, std::size_t slashes) const {
    std::size_t seen = 0;
    for (; i < text_.size(); ++i) {
      if (text_[i] == quote && seen <= slashes) return i - seen;
      seen = text_[i] == '\\' ? seen + 1 : 0;
    }
    return i;
  }
  [[nodiscard]] static bool ends_value(char c) {
    return std::string_view(" \"'&,;)}\\").find(c) != std::string_view::npos;
  }

  // Just behind "://": hides a user and password, and remembers how far the address goes.
  void authority() {
    if (pos_ >= url_end_) {
      url_end_ = address_end(pos_);
      const std::size_t sign = text_.substr(pos_, url_end_ - pos_).rfind('@');
      last_at_ = sign == std::string_view::npos ? 0 : pos_ + sign;
    }
    std::string_view host = text_.substr(pos_, url_end_ - pos_);
    host = host.substr(0, host.find_first_of("/?#\\"));
    const std::size_t sign = host.rfind('@');
    if (sign != std::string_view::npos) {
      certain_ = certain_ || host.substr(0, sign).find(':') != std::string_view::npos;
      hide(pos_ + sign);
      return;
    }
    // A password with an unescaped slash, question mark or hash: what follows the colon is no port.
    const std::size_t colon = host.find(':');
    if (colon == std::string_view::npos || host.starts_with('[') || last_at_ <= pos_) return;
    const std::string_view port = host.substr(colon + 1);
    if (!port.empty() && std::all_of(port.begin(), port.end(), is_digit)) return;
    certain_ = true;
    hide(last_at_);
  }
  void hide(std::size_t end) {
    out_ += kRedacted;
    pos_ = end;
  }

  [[nodiscard]] std::size_t address_end(std::size_t i) const {
    while (i < text_.size()) {
      const char c = text_[i];
      if (c == ' ' || is_quote(c) || c == '<' || c == '>' || c == '`') return i;
      if (c == '\\' && !at(i, "\\/") && !at(i, "\\u")) return i;
      i += c == '\\' ? std::min(escape_length(i), text_.size() - i) : 1;
    }
    return i;
  }

  // The names of a query are printed, their values never; a fragment and a bare query not at all.
  void query() {
    while (pos_ < url_end_) {
      std::size_t end = pos_;
      while (end < url_end_ && text_[end] != '&' && text_[end] != '#' && !at(end, "\\u0026"))
        ++end;
      const std::string_view piece = text_.substr(pos_, end - pos_);
      const std::size_t equals = piece.find('=');
      if (equals != std::string_view::npos && is_query_name(piece.substr(0, equals))) {
        certain_ = certain_ || (equals + 1 < piece.size() && is_secret_name(piece.substr(0, equals)));
        copy(equals + 1);
      }
      if (end > pos_) hide(end);
      if (pos_ < url_end_) copy(text_[pos_] == '\\' ? 6 : 1);
    }
  }
  [[nodiscard]] static bool is_query_name(std::string_view name) {
    return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), is_run_character) &&
           find_token(name).at == std::string_view::npos;
  }

  std::string_view text_;
  std::string out_;
  std::size_t pos_ = 0;
  std::size_t url_end_ = 0;
  std::size_t last_at_ = 0;
  bool certain_ = false;
};

}  // namespace

std::string scrub(std::string_view text) { return Scrubber(escape_controls(text)).run(); }

bool holds_secret(std::string_view text) {
  const std::string visible = escape_controls(text);
  Scrubber scrubber(visible);
  scrubber.run();
  return scrubber.certain();
}

}  // namespace agent::observe
