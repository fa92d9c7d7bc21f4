#include "journal/sql_text.hpp"

namespace agent::journal {

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::string parameters(std::size_t count) {
  std::vector<std::string> numbers;
  numbers.reserve(count);
  for (std::size_t i = 1; i <= count; ++i)
    numbers.push_back("?" + std::to_string(i));
  return joined(numbers);
}

}  // namespace agent::journal
