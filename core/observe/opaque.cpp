// Tells machine-made secrets from paths, names and our own ids by how their characters change class.
#include <algorithm>

#include "observe/text.hpp"

namespace agent::observe {
namespace {

constexpr std::size_t kLongRun = 40;        // shorter runs are never judged
constexpr std::size_t kLongestId = 32;      // a generation: 32 hex digits
constexpr std::size_t kStrangeEnough = 16;  // so many characters in segments that no human writes
constexpr std::string_view kSeparators = "/+=_-.~%";

enum class Class { lower, upper, digit };

Class class_of(char c) {
  if (c >= '0' && c <= '9') return Class::digit;
  return c >= 'A' && c <= 'Z' ? Class::upper : Class::lower;
}

bool is_hex_of_one_case(std::string_view text) {
  const auto lower = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  const auto upper = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return std::all_of(text.begin(), text.end(), lower) || std::all_of(text.begin(), text.end(), upper);
}

// A word, a number, a version, a short id: long stretches of one class of characters.
bool is_plain(std::string_view segment) {
  if (segment.size() >= kLongRun) return false;
  if (segment.size() <= kLongestId && is_hex_of_one_case(segment)) return true;
  std::size_t changes = 0;
  for (std::size_t i = 1; i < segment.size(); ++i) {
    const Class before = class_of(segment[i - 1]);
    const bool capital = i == 1 && before == Class::upper && class_of(segment[i]) == Class::lower;
    if (!capital && before != class_of(segment[i])) ++changes;
  }
  return changes * 4 <= segment.size() + 4;
}

}  // namespace

bool is_run_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         kSeparators.find(c) != std::string_view::npos;
}

bool is_opaque_run(std::string_view run) {
  if (run.size() < kLongRun) return false;
  std::size_t strange = 0;
  while (!run.empty()) {
    const std::string_view segment = run.substr(0, run.find_first_of(kSeparators));
    if (!is_plain(segment)) strange += segment.size();
    run.remove_prefix(std::min(run.size(), segment.size() + 1));
  }
  return strange >= kStrangeEnough;
}

}  // namespace agent::observe
