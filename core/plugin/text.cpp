#include "plugin/text.hpp"

#include <cstdint>

namespace agent::plugin {
namespace {

// Bytes of the well-formed character at the front of `text`, 0 if there is none.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint8_t low = 0x80;  // bounds of the second byte exclude overlong forms and surrogates
  std::uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string one_line(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character(text);
    const auto first = static_cast<std::uint8_t>(text.front());
    const bool control = length == 1 && (first < 0x20 || first == 0x7F);
    const bool c1 = length == 2 && first == 0xC2 && static_cast<std::uint8_t>(text[1]) < 0xA0;
    const std::string_view shown = length == 0 || control || c1 ? "?" : text.substr(0, length);
    if (out.size() + shown.size() > most) break;
    out += shown;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

}  // namespace agent::plugin
