#include "conform/json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace rmgr::conform {
namespace {

constexpr int most_depth = 32;

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6U));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | (code >> 12U));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | (code >> 18U));
    out += static_cast<char>(0x80U | ((code >> 12U) & 0x3FU));
    out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

// Length of the UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : std::uint32_t{0};
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty() && out.size() < most) {
    const std::size_t length = sequence(text);
    const bool plain =
        length > 1 || (length == 1 && static_cast<unsigned char>(text[0]) >= 0x20 && text[0] != 0x7F);
    if (plain)
      out += text.substr(0, length);
    else
      out += text[0] == '\n' || text[0] == '\t' ? ' ' : '?';
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  if (!text.empty()) out += "...";
  return out;
}

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : rest_(text) {}

  bool whole(Json& out) {
    if (!value(out, 1)) return false;
    blank();
    return rest_.empty();
  }

 private:
  void blank() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\n' || rest_[0] == '\r'))
      rest_.remove_prefix(1);
  }
  bool take(char c) {
    blank();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool word(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }

  bool value(Json& out, int depth) {
    blank();
    if (rest_.empty() || depth > most_depth) return false;
    switch (rest_[0]) {
      case '{': return object(out, depth);
      case '[': return array(out, depth);
      case '"': out.kind_ = Json::Kind::text; return text(out.text_);
      case 't': out = Json::boolean(true); return word("true");
      case 'f': out = Json::boolean(false); return word("false");
      case 'n': out = Json(); return word("null");
      default: return number(out);
    }
  }

  bool object(Json& out, int depth) {
    out = Json::object();
    take('{');
    if (take('}')) return true;
    do {
      blank();
      Json::Member member;
      if (rest_.empty() || rest_[0] != '"' || !text(member.key) || out.find(member.key) != nullptr)
        return false;
      if (!take(':') || !value(member.value, depth + 1)) return false;
      out.members_.push_back(std::move(member));
    } while (take(','));
    return take('}');
  }

  bool array(Json& out, int depth) {
    out = Json::array();
    take('[');
    if (take(']')) return true;
    do {
      Json item;
      if (!value(item, depth + 1)) return false;
      out.items_.push_back(std::move(item));
    } while (take(','));
    return take(']');
  }

  bool number(Json& out) {
    const std::size_t end = std::min(rest_.find_first_not_of("+-0123456789.eE"), rest_.size());
    const std::string_view token = rest_.substr(0, end);
    const std::string_view digits = token.starts_with('-') ? token.substr(1) : token;
    if (digits.empty() || digits[0] < '0' || digits[0] > '9' || digits.back() < '0' || digits.back() > '9')
      return false;
    if (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return false;
    const char* const last = token.data() + token.size();
    const bool whole = digits.find_first_of(".eE") == std::string_view::npos;
    const auto as_integer = std::from_chars(token.data(), last, out.integer_);
    if (whole && as_integer.ec == std::errc() && as_integer.ptr == last) {
      out.kind_ = Json::Kind::integer;
    } else {
      const auto as_number = std::from_chars(token.data(), last, out.number_);
      if (as_number.ec != std::errc() || as_number.ptr != last) return false;
      out.kind_ = Json::Kind::number;
      out.integer_ = 0;
    }
    rest_.remove_prefix(end);
    return true;
  }

  bool hex(std::uint32_t& code) {
    if (rest_.size() < 4) return false;
    const auto read = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
    const bool whole = read.ec == std::errc() && read.ptr == rest_.data() + 4;
    rest_.remove_prefix(4);
    return whole;
  }

  bool escape(std::string& out) {
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (const std::size_t found = letters.find(c); found != std::string_view::npos) {
      out += meanings[found];
      return true;
    }
    std::uint32_t code = 0;
    if (c != 'u' || !hex(code)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
      std::uint32_t low = 0;
      if (!word("\\u") || !hex(low) || low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
      return false;
    }
    append_utf8(out, code);
    return true;
  }

  bool text(std::string& out) {
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_[0] != '"') {
      if (static_cast<unsigned char>(rest_[0]) < 0x20) return false;
      const std::size_t length = sequence(rest_);
      if (length == 0) return false;
      if (rest_[0] == '\\') {
        rest_.remove_prefix(1);
        if (!escape(out)) return false;
        continue;
      }
      out += rest_.substr(0, length);
      rest_.remove_prefix(length);
    }
    if (rest_.empty()) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

Json Json::boolean(bool value) {
  Json made;
  made.kind_ = Kind::boolean;
  made.number_ = value ? 1 : 0;
  return made;
}
Json Json::integer(std::int64_t value) {
  Json made;
  made.kind_ = Kind::integer;
  made.integer_ = value;
  return made;
}
Json Json::text(std::string_view value) {
  Json made;
  made.kind_ = Kind::text;
  made.text_ = value;
  return made;
}
Json Json::array() {
  Json made;
  made.kind_ = Kind::array;
  return made;
}
Json Json::object() {
  Json made;
  made.kind_ = Kind::object;
  return made;
}

std::optional<Json> Json::parse(std::string_view text) {
  Json made;
  if (!JsonReader(text).whole(made)) return std::nullopt;
  return made;
}

const Json* Json::find(std::string_view key) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const Member& one) { return one.key == key; });
  return found == members_.end() ? nullptr : &found->value;
}

const Json& Json::at(std::string_view key) const {
  static const Json none;
  const Json* const found = find(key);
  return found == nullptr ? none : *found;
}

Json& Json::set(std::string_view key, Json value) {
  erase(key);
  members_.push_back({std::string(key), std::move(value)});
  return *this;
}

void Json::erase(std::string_view key) {
  std::erase_if(members_, [&](const Member& one) { return one.key == key; });
}

namespace {

void quote(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = sequence(text);
    const char c = text[0];
    if (length == 0) {
      out += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      out += escaped;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  out += '"';
}

}  // namespace

void Json::dump_to(std::string& out) const {
  bool first = true;
  const auto comma = [&] {
    if (!first) out += ',';
    first = false;
  };
  switch (kind_) {
    case Kind::null: out += "null"; break;
    case Kind::boolean: out += as_bool() ? "true" : "false"; break;
    case Kind::integer: out += std::to_string(integer_); break;
    case Kind::number: {
      char digits[40];
      std::snprintf(digits, sizeof digits, "%.17g", std::isfinite(number_) ? number_ : 0.0);
      out += digits;
      break;
    }
    case Kind::text: quote(text_, out); break;
    case Kind::array:
      out += '[';
      for (const Json& item : items_) {
        comma();
        item.dump_to(out);
      }
      out += ']';
      break;
    case Kind::object:
      out += '{';
      for (const Member& member : members_) {
        comma();
        quote(member.key, out);
        out += ':';
        member.value.dump_to(out);
      }
      out += '}';
      break;
  }
}

std::string Json::dump() const {
  std::string out;
  dump_to(out);
  return out;
}

bool Json::operator==(const Json& other) const {
  if (kind_ != other.kind_ || integer_ != other.integer_ || number_ != other.number_ ||
      text_ != other.text_ || items_ != other.items_ || members_.size() != other.members_.size())
    return false;
  return std::all_of(members_.begin(), members_.end(), [&](const Member& one) {
    const Json* const theirs = other.find(one.key);
    return theirs != nullptr && *theirs == one.value;
  });
}

}  // namespace rmgr::conform
