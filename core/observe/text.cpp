#include "observe/text.hpp"

#include <array>
#include <cstdint>

namespace agent::observe {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_hex_escape(std::string& out, unsigned char byte) {
  out += "\\x";
  out += kHex[byte >> 4U];
  out += kHex[byte & 15U];
}

void append_unicode_escape(std::string& out, std::uint32_t code) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4)
    out += kHex[(code >> static_cast<unsigned>(shift)) & 15U];
}

bool continues(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

std::uint32_t decode(std::string_view character) {
  static constexpr std::array<std::uint32_t, 5> kMask{0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t code = static_cast<unsigned char>(character[0]) & kMask[character.size()];
  for (const char c : character.substr(1))
    code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

// C1 controls, line separators and what changes the direction of text on a terminal.
bool is_unprintable(std::uint32_t code) {
  return (code >= 0x80 && code < 0xA0) || code == 0x2028 || code == 0x2029 || code == 0x200E ||
         code == 0x200F || (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues(byte(at + i))) return 0;
  }
  const unsigned char second = byte(at + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool too_large = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

std::string escape_controls(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = utf8_length(text, i);
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\r') {
      out += "\\r";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F || length == 0) {
      append_hex_escape(out, byte);
    } else if (length > 1 && is_unprintable(decode(text.substr(i, length)))) {
      append_unicode_escape(out, decode(text.substr(i, length)));
    } else {
      out += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string shorten(std::string text, std::size_t limit) {
  static constexpr std::string_view kMark = "...";
  if (text.size() <= limit) return text;
  std::size_t end = limit > kMark.size() ? limit - kMark.size() : 0;
  while (end > 0 && continues(static_cast<unsigned char>(text[end])))
    --end;
  text.resize(end);
  text += kMark;
  return text;
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      append_unicode_escape(out, static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

}  // namespace agent::observe
