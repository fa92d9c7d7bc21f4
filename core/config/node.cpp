#include "config/node.hpp"

#include <algorithm>
#include <array>

namespace agent::config {
namespace {

constexpr std::array<std::string_view, 12> kTrapWords{"y",    "n",     "yes",  "no",    "on",    "off",
                                                      "true", "false", ".inf", "-.inf", "+.inf", ".nan"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string folded(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Digits with one point, with an exponent, or both.
bool is_real(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, exponent);
  if (exponent != std::string_view::npos) {
    std::string_view power = text.substr(exponent + 1);
    if (power.starts_with('+') || power.starts_with('-')) power.remove_prefix(1);
    if (!all_digits(power)) return false;
  }
  const std::size_t point = mantissa.find('.');
  if (point == std::string_view::npos) return exponent != std::string_view::npos && all_digits(mantissa);
  return all_digits(mantissa.substr(0, point)) && all_digits(mantissa.substr(point + 1));
}

// A number in a notation that some parsers know and others take for text.
bool is_odd_number(std::string_view text) {
  if (!is_digit(text.front())) return false;
  if (text.size() > 1 && text[0] == '0' && all_digits(text)) return true;
  if (text.starts_with("0x") || text.starts_with("0o") || text.starts_with("0b")) {
    return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF_", 2) == std::string_view::npos;
  }
  return text.find('_') != std::string_view::npos &&
         text.find_first_not_of("0123456789_.") == std::string_view::npos;
}

}  // namespace

Written written_as(const Node& scalar) {
  if (scalar.quoted || scalar.text.empty()) return Written::text;
  if (scalar.text == "true" || scalar.text == "false") return Written::boolean;
  if (std::find(kTrapWords.begin(), kTrapWords.end(), folded(scalar.text)) != kTrapWords.end()) {
    return Written::trap;
  }
  std::string_view number = scalar.text;
  const bool plus = number.starts_with('+');
  if (plus || number.starts_with('-')) number.remove_prefix(1);
  if (number.empty()) return Written::text;
  if (is_odd_number(number)) return Written::trap;
  if (all_digits(number)) return plus ? Written::trap : Written::integer;
  return is_real(number) ? Written::real : Written::text;
}

}  // namespace agent::config
