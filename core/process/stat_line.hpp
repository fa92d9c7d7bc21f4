// One line of /proc/PID/stat. Shared by host and shim; allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agent::process {

struct StatLine {
  char state = 0;
  std::int64_t parent = 0;
  std::int64_t group = 0;
  std::int64_t session = 0;
  std::uint64_t start = 0;  // clock ticks since boot: the start token
};

// False for anything that is not a whole line. The name in parentheses is chosen by the process and may hold
// spaces and parentheses, so the fields are counted from the last one.
inline bool parse_stat(std::string_view text, StatLine& out) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return false;
  std::string_view rest = text.substr(name_end + 1);
  constexpr int state_field = 3;
  constexpr int start_field = 22;
  for (int field = state_field; field <= start_field; ++field) {
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string_view::npos) return false;
    rest.remove_prefix(begin);
    const std::size_t end = rest.find_first_of(" \n");
    const std::string_view word = rest.substr(0, end);
    if (field == state_field) {
      if (word.size() != 1) return false;
      out.state = word.front();
    } else if (field <= 6 || field == start_field) {
      std::uint64_t number = 0;
      const bool negative = word.front() == '-';
      const std::string_view digits = negative ? word.substr(1) : word;
      if (digits.empty() || digits.size() > 19) return false;
      for (const char c : digits) {
        if (c < '0' || c > '9') return false;
        number = number * 10 + static_cast<std::uint64_t>(c - '0');
      }
      const auto value = negative ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
      if (field == 4) out.parent = value;
      if (field == 5) out.group = value;
      if (field == 6) out.session = value;
      if (field == start_field) out.start = number;
    }
    rest.remove_prefix(word.size());
  }
  return true;
}

}  // namespace agent::process
